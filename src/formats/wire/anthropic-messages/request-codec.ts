import type { HistoryRule } from "../../../catalog/index.ts";
import { ABSENT, type JsonDocument, type JsonText, type Splice } from "../../../kernel/index.ts";
import type { EncodeTarget, RequestCodec } from "../contract.ts";
import { word } from "../fields/chat-vocabulary.ts";
import { checkBody } from "./check-request.ts";
import { decodeCall } from "./decode-call.ts";
import { encodeCall } from "./encode-request.ts";
import { estimateDocument } from "./estimate-tokens.ts";
import { applyHistoryRules } from "../history-rules.ts";
import { applyProfile } from "../wire-profile.ts";
import { findMedia } from "./find-media.ts";

export const versionHeader = { "anthropic-version": "2023-06-01" } as const;

const NO_RULES: ReadonlySet<HistoryRule> = new Set();

const plainHeaders = { "content-type": "application/json", ...versionHeader };

/** The request half of messages. */
export const anthropicMessagesRequests: RequestCodec = {
  path: "/messages",
  temperatureMax: 1,
  userField: "metadata",
  checkBody,
  renderPath: (path) =>
    path.map((step) => (typeof step === "number" ? step : step.slice(0, 64))).join("."),
  findMedia,
  decodeCall,
  encodeCall,
  surplusBounds: () => [word.max_completion_tokens],
  editBody,
  countsHourWrites: true,
  isUsualPrice: () => false,
  countTokens,
  isClientTool: (doc, type) => doc.word(type) === word.custom || CLIENT_TOOLS.test(doc.text(type)),
  headers,
};

/** Tools of the provider's design that the caller runs. */
const CLIENT_TOOLS = /^(?:bash|text_editor|computer|memory)_\d{8}$/;

/** Longer bodies are judged by their bytes: reading every word would hold up all other requests. */
const COUNTED_BYTES_MAX = 262_144;
const BYTES_PER_TOKEN = 4;

function countTokens(doc: JsonDocument): number {
  const bytes = doc.body.length;
  return bytes > COUNTED_BYTES_MAX ? Math.ceil(bytes / BYTES_PER_TOKEN) : estimateDocument(doc);
}

/** This wire requires a bound, and knows one name for it only. */
function editBody(doc: JsonDocument, splice: Splice, { request, deployment }: EncodeTarget): void {
  applyProfile(doc, splice, deployment);
  applyHistoryRules(doc, splice, deployment.wireProfile?.history ?? NO_RULES);
  const sent = doc.member(0, word.max_tokens);
  const tokens = String(request.outputTokens) as JsonText;
  if (sent === ABSENT) splice.insert("max_tokens", tokens);
  else if (doc.isNull(sent)) splice.replace(sent, tokens);
}

function headers(betas: readonly string[]): Readonly<Record<string, string>> {
  return betas.length === 0 ? plainHeaders : { ...plainHeaders, "anthropic-beta": betas.join(",") };
}
