import { type Deployment, pricesHourWrites } from "../../../catalog/index.ts";
import { historyLosses } from "../../wire/history-rules.ts";
import { isOpen, isPricedMark } from "../../wire/price-guard.ts";
import { undeclaredFields } from "../../wire/wire-profile.ts";
import type { Unservable } from "../../wire/modality.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import type { SameWireDrops } from "./dropped-fields.ts";
import type { ParsedChatRequest } from "./parse-request.ts";

/**
 * What an answer does not depend on: the priced fields that the listing does not declare, and the
 * fields that only a dropped name of the beta header opens.
 */
export function sameWireDrops(request: ParsedChatRequest, deployment: Deployment): SameWireDrops {
  const { dropped, longMarks: found } = request.pricedFields();
  const passes = deployment.passesPricedFields === true;
  const longMarks = passes ? [] : found.filter((mark) => !isPricedMark(mark, deployment));
  const opened = request.betaFields();
  if (dropped.length === 0 && longMarks.length === 0) return opened;
  const { doc } = request;
  const lost = dropped.filter((each) => !isOpen(doc, each, deployment));
  return {
    words: [...opened.words, ...lost.map((each) => each.wordId)],
    inside: [...opened.inside, ...longMarks.map(({ object }) => ({ object, wordIds: [word.ttl] }))],
    names: [
      ...opened.names,
      ...lost.map((each) => each.field),
      ...new Set(longMarks.map(({ field }) => `${field}.ttl`)),
    ],
  };
}

/** Does this deployment, of the request's own wire, get marks for an hour of its cache at a price? */
export function asksHourWrites(request: ParsedChatRequest, deployment: Deployment): boolean {
  if (!pricesHourWrites(deployment.prices)) return false;
  return request.pricedFields().longMarks.some((mark) => isPricedMark(mark, deployment));
}

/** What the provider's profile keeps back of a body of its own wire, by name. */
export function profileDrops(
  request: ParsedChatRequest,
  deployment: Deployment,
): readonly string[] {
  const { wireProfile: profile, fixedBody } = deployment;
  if (profile === undefined && fixedBody === undefined) return [];
  const { names } = undeclaredFields(request.doc, deployment);
  return profile === undefined ? names : [...names, ...historyLosses(request.doc, profile.history)];
}

/** A field that the listing would have to declare, because the answer depends on it. */
export function undeclaredPrice(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const { refused } = request.pricedFields();
  const found = refused.find((each) => !isOpen(request.doc, each, deployment));
  if (found === undefined) return undefined;
  const { field } = found;
  const reason =
    deployment.passesPricedFields === true
      ? "is not forwarded to providers, and"
      : "makes the provider charge more than tokens, and";
  const next =
    "this model's listing does not declare it; remove it or choose a model that accepts it";
  const message = `${field} ${reason} ${next}`;
  return { field, message };
}
