import { type Deployment, pricesHourWrites } from "../../../catalog/index.ts";
import { ABSENT, type JsonDocument } from "../../../kernel/index.ts";
import { logprobTokensMax } from "../../wire/answer/json-bridge.ts";
import type { Wire } from "../../wire/contract.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import { boundFor, sentBounds } from "../../wire/fields/common-fields.ts";
import { historyLosses } from "../../wire/history-rules.ts";
import type { Unservable } from "../../wire/modality.ts";
import { lostEffort } from "../../wire/neutral/chat-call.ts";
import { ALLOWED_LOSSES } from "../../wire/neutral/translation-issues.ts";
import { isOpen, isPricedMark } from "../../wire/price-guard.ts";
import { lostParameters, neededField, undeclaredFields } from "../../wire/wire-profile.ts";
import type { SameWireDrops } from "./beta-fields.ts";
import type { ParsedChatRequest } from "./parse-request.ts";

/** Returns why a deployment of the wire `target` cannot serve the request; undefined if it can. */
export function servabilityProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
  target: Wire,
): Unservable | undefined {
  return (
    temperatureProblem(request, target) ??
    undeclaredMedia(request, deployment) ??
    profileProblem(request, deployment) ??
    logprobsProblem(request) ??
    (target === request.wire
      ? pricingProblem(request, deployment)
      : translationProblem(request, deployment, target)) ??
    boundProblem(request, deployment)
  );
}

/** The maximum temperature of a wire is 1 or 2. Parsing has refused any value above 2. */
function temperatureProblem(
  request: ParsedChatRequest,
  { requests }: Wire,
): Unservable | undefined {
  if ((request.temperature ?? 0) <= requests.temperatureMax) return undefined;
  const message = `temperature is above ${requests.temperatureMax}, which the providers of this model do not accept; lower it`;
  return { field: "temperature", message };
}

function boundProblem(
  { doc, outputTokens }: ParsedChatRequest,
  { maxOutputTokens: most = outputTokens, ownKey }: Deployment,
): Unservable | undefined {
  const [field] = sentBounds(doc);
  if (field === undefined || outputTokens <= most || ownKey !== undefined) return undefined;
  const message = `${field} is above ${most}, the most that it writes, so that others are tried first`;
  return { field, message, isPreference: true };
}

function profileProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const { doc, stream } = request;
  const choices = findOtherChoices(doc, deployment);
  if (choices !== undefined) {
    const message = `tool_choice must be one of ${choices.join(", ")} for the providers of this model; change it or choose another model`;
    return { field: "tool_choice", message };
  }
  const most = deployment.wireProfile?.nonStreamMax;
  if (most !== undefined && !stream && boundFor(request, deployment) > most) {
    const reason = most === 0 ? "answers" : `answers of more than ${most} tokens`;
    const message = `stream must be true: the providers of this model give ${reason} only as a stream`;
    return { field: "stream", message };
  }
  const field = neededField(doc, deployment);
  if (field === undefined) return undefined;
  const message = `${field} is not taken by the providers of this model; remove it or choose a model that accepts it`;
  return { field, message };
}

function undeclaredMedia(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const part = request.mediaParts.find(({ kind }) => !deployment.inputModalities.has(kind));
  if (part === undefined) return undefined;
  const { path, kind } = part;
  const { inputModalities: taken, providerName } = deployment;
  return {
    field: path,
    // The message names only the kinds that this listing accepts; other listings may accept more.
    message:
      `${path} is a part of kind ${kind}; the listing of ${providerName} accepts ` +
      `${[...taken].join(", ")}; send one of these or choose a model that accepts ${kind}`,
    undeclared: { kind, taken },
  };
}

/**
 * Refuses log probabilities that make the answer too large to read: the client would get a 502, and
 * nobody would pay for the provider's work. The rule also holds for deployments that drop the
 * field, so routing does not prefer those.
 */
function logprobsProblem({
  stream,
  outputTokens,
  logprobsPerToken: entries,
}: ParsedChatRequest): Unservable | undefined {
  const most = logprobTokensMax(entries);
  if (stream || outputTokens <= most) return undefined;
  const message =
    `top_logprobs is too high for an answer of up to ${outputTokens} tokens that is not ` +
    `streamed; set stream to true, lower top_logprobs, or ask for at most ${most} output tokens`;
  return { field: "top_logprobs", message };
}

/** Refuses undeclared priced fields, tools that only a dropped beta opens, and required losses. */
function pricingProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const undeclared = undeclaredPrice(request, deployment) ?? request.betaFields().refused;
  if (undeclared !== undefined || !request.controls.requireParameters) return undeclared;
  return lostFieldProblem([
    ...sameWireDrops(request, deployment).names,
    ...profileDrops(request, deployment),
  ]);
}

function translationProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
  { requests }: Wire,
): Unservable | undefined {
  const { call, needs } = request.decoded();
  const [first] = needs.refused;
  if (first !== undefined) return first;
  if (!request.controls.requireParameters) return undefined;
  return lostFieldProblem([
    ...needs.dropped,
    ...lostEffort(call, deployment),
    ...lostParameters(call, request.doc, deployment, requests),
  ]);
}

function lostFieldProblem(names: readonly string[]): Unservable | undefined {
  const lost = names.find((name) => !ALLOWED_LOSSES.has(name));
  if (lost === undefined) return undefined;
  return {
    field: lost,
    message:
      `${lost} would be dropped for the providers of this model, and ` +
      "provider.require_parameters forbids that; remove one of them",
  };
}

/** Lists what no answer needs: undeclared priced fields, and fields whose beta name is dropped. */
export function sameWireDrops(request: ParsedChatRequest, deployment: Deployment): SameWireDrops {
  const { dropped, longMarks: found } = request.pricedFields();
  const passes = deployment.passesPricedFields === true;
  const longMarks = passes ? [] : found.filter((mark) => !isPricedMark(mark, deployment));
  const opened = request.betaFields();
  if (dropped.length === 0 && longMarks.length === 0) return opened;
  const { doc } = request;
  const lost = dropped.filter((each) => !isOpen(doc, each, deployment));
  return {
    members: [
      ...opened.members,
      ...(lost.length > 0 ? [{ object: 0, wordIds: lost.map((each) => each.wordId) }] : []),
      ...longMarks.map(({ object }) => ({ object, wordIds: [word.ttl] })),
    ],
    items: opened.items,
    names: [
      ...opened.names,
      ...lost.map((each) => each.field),
      ...new Set(longMarks.map(({ field }) => `${field}.ttl`)),
    ],
  };
}

/**
 * True if the request asks for cache writes that last an hour, and this deployment has a price for
 * them. The deployment must speak the client's wire.
 */
export function asksHourWrites(request: ParsedChatRequest, deployment: Deployment): boolean {
  if (!pricesHourWrites(deployment.prices)) return false;
  return request.pricedFields().longMarks.some((mark) => isPricedMark(mark, deployment));
}

/** Fields that the wire profile or fixed body drops if the provider speaks the client's wire. */
export function profileDrops(
  request: ParsedChatRequest,
  deployment: Deployment,
): readonly string[] {
  const { wireProfile: profile, fixedBody } = deployment;
  if (profile === undefined && fixedBody === undefined) return [];
  const { names } = undeclaredFields(request.doc, deployment);
  if (profile === undefined) return names;
  return [...names, ...historyLosses(request.doc, profile.history, request.wire.requests)];
}

/** Refuses a priced field that the answer depends on, unless `isOpen` is true for it. */
function undeclaredPrice(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const { refused } = request.pricedFields();
  const found = refused.find((each) => !isOpen(request.doc, each, deployment));
  if (found === undefined) return undefined;
  const { field } = found;
  const reason =
    deployment.passesPricedFields === true
      ? "is not forwarded to providers"
      : "makes the provider charge more than tokens";
  const message =
    `${field} ${reason}, and this model's listing does not declare it; ` +
    "remove it or choose a model that accepts it";
  return { field, message };
}

type Choice = "auto" | "none" | "required" | "named";

/** For each tool choice, the words with which a listing can declare it. */
const DECLARED: Readonly<Record<Choice, readonly string[]>> = {
  auto: ["auto"],
  none: ["none"],
  required: ["required", "any"],
  named: ["named", "function", "tool"],
};

/**
 * The tool choices that the listing accepts, if the client's choice is not one of them. Undefined
 * if the client's choice is accepted, absent or unknown, or if the listing names no choices.
 */
function findOtherChoices(
  doc: JsonDocument,
  { supportedParameters }: Pick<Deployment, "supportedParameters">,
): readonly string[] | undefined {
  const descriptor = supportedParameters.get("tool_choice");
  if (descriptor?.type !== "enum") return undefined;
  const choice = readToolChoice(doc);
  if (choice === undefined) return undefined;
  const isTaken = DECLARED[choice].some((name) => descriptor.values.includes(name));
  return isTaken ? undefined : descriptor.values;
}

function readToolChoice(doc: JsonDocument): Choice | undefined {
  const older = doc.present(0, word.function_call);
  const sent = doc.present(0, word.tool_choice);
  const node = sent === ABSENT ? older : sent;
  if (node === ABSENT) return undefined;
  if (doc.isString(node)) return CHOICE_OF_WORD.get(doc.word(node));
  const type = doc.present(node, word.type);
  if (type !== ABSENT) return CHOICE_OF_WORD.get(doc.word(type));
  return doc.present(node, word.name) === ABSENT ? undefined : "named";
}

const CHOICE_OF_WORD: ReadonlyMap<number, Choice> = new Map([
  [word.auto, "auto"],
  [word.none, "none"],
  [word.any, "required"],
  [word.required, "required"],
  [word.allowed_tools, "named"],
  [word.custom, "named"],
  [word.function, "named"],
  [word.tool, "named"],
]);
