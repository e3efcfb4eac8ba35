import type { Deployment } from "../../../catalog/index.ts";
import { ABSENT, type JsonDocument, type JsonText, type Splice } from "../../../kernel/index.ts";
import type { EncodeTarget, RequestCodec } from "../contract.ts";
import { word } from "../fields/chat-vocabulary.ts";
import { type OutputBoundName, outputBoundName } from "../fields/deployment-fields.ts";
import { applyHistoryRules } from "../history-rules.ts";
import { aggregatorControls, applyProfile } from "../wire-profile.ts";
import { checkBody } from "./check-request.ts";
import { removeClientCopies } from "./client-copies.ts";
import { decodeCall } from "./decode-call.ts";
import { encodeCall } from "./encode-request.ts";
import { findMedia } from "./find-media.ts";
import { standInForSignatures } from "./stand-in-signatures.ts";

const headers = { "content-type": "application/json" };

/** The request half of chat completions. */
export const openaiChatRequests: RequestCodec = {
  path: "/chat/completions",
  temperatureMax: 2,
  userField: "user",
  checkBody,
  renderPath: (path) =>
    path
      .map((step) => (typeof step === "number" ? `[${step}]` : `.${step.slice(0, 64)}`))
      .join("")
      .slice(1),
  findMedia,
  decodeCall,
  encodeCall,
  surplusBounds,
  editBody,
  countsHourWrites: false,
  isUsualPrice: (field, value) => field === "service_tier" && value === "default",
  isClientTool: (doc, type) => doc.word(type) === word.function || doc.word(type) === word.custom,
  // No answer of this wire starts with a count, so nothing more exact is needed than the bytes.
  countTokens: (doc) => doc.body.length,
  headers: () => headers,
};

const BOUND_NAMES: readonly OutputBoundName[] = ["max_tokens", "max_completion_tokens"];

function surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[] {
  const kept = boundNameFor(doc, deployment);
  return BOUND_NAMES.filter((name) => name !== kept).map((name) => word[name]);
}

function boundNameFor(doc: JsonDocument, deployment: Deployment): OutputBoundName {
  const sent = BOUND_NAMES.filter((name) => doc.present(0, word[name]) !== ABSENT);
  return outputBoundName(deployment, sent.length === 1 ? sent[0] : undefined);
}

function editBody(doc: JsonDocument, splice: Splice, { request, deployment }: EncodeTarget): void {
  const controls = aggregatorControls(doc, deployment);
  if (controls !== undefined) splice.insert("provider", controls);
  removeClientCopies(doc, splice);
  const { wireProfile: profile } = deployment;
  applyProfile(doc, splice, deployment);
  if (profile !== undefined) applyHistoryRules(doc, splice, profile.history);
  if (profile?.toolSignature !== undefined) standInForSignatures(doc, splice);
  writeBound(doc, splice, { request, deployment });
  if (request.stream && profile?.usageUnasked !== true) askForUsage(doc, splice);
}

/** A bound that is there as null is replaced: a second one would be a key twice. */
function writeBound(
  doc: JsonDocument,
  splice: Splice,
  { request, deployment }: EncodeTarget,
): void {
  const name = boundNameFor(doc, deployment);
  const sent = doc.member(0, word[name]);
  const tokens = String(request.outputTokens) as JsonText;
  if (sent === ABSENT) splice.insert(name, tokens);
  else if (doc.isNull(sent)) splice.replace(sent, tokens);
}

/** Without it the provider reports no usage in a stream, and nothing could be billed. */
function askForUsage(doc: JsonDocument, splice: Splice): void {
  const yes = "true" as JsonText;
  const options = doc.member(0, word.stream_options);
  if (options === ABSENT) splice.insert("stream_options", '{"include_usage":true}' as JsonText);
  else if (doc.isNull(options)) splice.replace(options, '{"include_usage":true}' as JsonText);
  else {
    const asked = doc.member(options, word.include_usage);
    if (asked === ABSENT) splice.insertInto(options, "include_usage", yes);
    else if (!doc.isTrue(asked)) splice.replace(asked, yes);
  }
}
