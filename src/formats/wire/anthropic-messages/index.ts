import {
  ABSENT,
  asObject,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
  type Splice,
} from "../../../kernel/index.ts";
import type { EncodeTarget, Wire } from "../contract.ts";
import { byWordId, word } from "../fields/chat-vocabulary.ts";
import {
  boundFor,
  type MediaCollector,
  type MediaPart,
  writeBound,
} from "../fields/common-fields.ts";
import { applyHistoryRules } from "../history-rules.ts";
import { asCount } from "../neutral/usage-report.ts";
import { applyProfile } from "../wire-profile.ts";
import { anthropicMessagesAnswers } from "./answer-json.ts";
import { checkBody } from "./check-request.ts";
import { decodeCall } from "./decode-call.ts";
import { encodeCall } from "./encode-request.ts";
import { estimateDocument } from "./estimate-tokens.ts";
import { errorBody } from "./events.ts";
import { providerQuestions } from "./provider-questions.ts";
import { AnthropicMessagesDecoder } from "./stream-decoder.ts";
import { AnthropicMessagesEncoder } from "./stream-encoder.ts";
import { AnthropicMessagesRelay } from "./stream-relay.ts";

const versionHeader = { "anthropic-version": "2023-06-01" } as const;

const plainHeaders = { "content-type": "application/json", ...versionHeader };

export const anthropicMessages: Wire = {
  id: "wire_b",
  clientPath: "/v1/messages",
  dryRunName: "messages",
  requests: {
    path: "/messages",
    temperatureMax: 1,
    userField: "metadata",
    parallelField: "tool_choice",
    hasSystemMember: true,
    checkBody,
    renderPath: (path) =>
      path.map((step) => (typeof step === "number" ? step : step.slice(0, 64))).join("."),
    findMedia,
    decodeCall,
    encodeCall,
    surplusBounds: () => [word.max_completion_tokens],
    editBody,
    countsHourWrites: true,
    isUsualPrice: (field, value) => field === "service_tier" && value === "standard_only",
    countTokens,
    isClientTool: (doc, type) =>
      doc.word(type) === word.custom || CLIENT_TOOLS.test(doc.text(type)),
    headers,
  },
  answers: anthropicMessagesAnswers,
  streams: {
    decoder: (_isStopSequence, note) => new AnthropicMessagesDecoder(note),
    encoder: (label) => new AnthropicMessagesEncoder(label),
    relay: (label, note) => new AnthropicMessagesRelay(label, note),
  },
  errorBody,
  providerQuestions,
  authHeader: (key) => ["x-api-key", key],
  keyCheck: { path: "/models", headers: versionHeader },
  tokenCounter: {
    clientPath: "/v1/messages/count_tokens",
    path: "/messages/count_tokens",
    estimate: estimateDocument,
    read: (json) => asCount(asObject(json)?.["input_tokens"]),
    answerBody: (tokens) => Buffer.from(`{"input_tokens":${tokens}}`),
  },
};

const kindByWord = byWordId<MediaPart["kind"]>({
  image: "image",
  document: "file",
  audio: "audio",
  video: "video",
});

/** Finds media in the system prompt and in messages, also inside tool results and documents. */
function findMedia(doc: JsonDocument, media: MediaCollector): void {
  findInContent(doc, doc.member(0, word.system), "system", media);
  const messages = doc.member(0, word.messages);
  const end = doc.next(messages);
  let index = 0;
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    const content = doc.member(node, word.content);
    if (content !== ABSENT && doc.isArray(content))
      findInContent(doc, content, `messages.${index}.content`, media);
    index += 1;
  }
}

/** `READ_DEPTH_MAX` bounds the recursion. Content may be one block instead of a list. */
function findInContent(
  doc: JsonDocument,
  content: JsonNode,
  path: string,
  media: MediaCollector,
): void {
  if (content === ABSENT) return;
  if (!doc.isArray(content)) return findInBlock(doc, content, path, media);
  for (const [position, block] of doc.items(content).entries()) {
    findInBlock(doc, block, `${path}.${position}`, media);
  }
}

function findInBlock(
  doc: JsonDocument,
  block: JsonNode,
  path: string,
  media: MediaCollector,
): void {
  if (!doc.isObject(block)) return;
  const type = doc.member(block, word.type);
  const kind = type === ABSENT || !doc.isString(type) ? undefined : kindByWord[doc.word(type)];
  if (kind !== undefined) {
    const bytes = inlineBytes(doc, block);
    media.add(path, kind, bytes, bytes > 0);
  }
  findInContent(doc, doc.member(block, word.content), `${path}.content`, media);
  const source = doc.member(block, word.source);
  if (source !== ABSENT && doc.isObject(source)) {
    findInContent(doc, doc.member(source, word.content), `${path}.source.content`, media);
  }
}

function inlineBytes(doc: JsonDocument, block: JsonNode): number {
  const source = doc.member(block, word.source);
  if (source === ABSENT || !doc.isObject(source)) return 0;
  const type = doc.member(source, word.type);
  const data = doc.member(source, word.data);
  if (type === ABSENT || data === ABSENT || !doc.isString(type) || !doc.isString(data)) return 0;
  return doc.word(type) === word.base64 ? doc.end(data) - doc.start(data) - 2 : 0;
}

/** Types of tools that the provider defines and the client runs. */
const CLIENT_TOOLS = /^(?:bash|text_editor|memory|computer|(?:computer|browser)_toolset)_\d{8}$/;

/** Reading a longer body would block other requests, so its tokens are estimated from its size. */
const COUNTED_BYTES_MAX = 262_144;
const BYTES_PER_TOKEN = 4;

function countTokens(doc: JsonDocument): number {
  const bytes = doc.body.length;
  return bytes > COUNTED_BYTES_MAX ? Math.ceil(bytes / BYTES_PER_TOKEN) : estimateDocument(doc);
}

function editBody(doc: JsonDocument, splice: Splice, { request, deployment }: EncodeTarget): void {
  applyProfile(doc, splice, deployment);
  const { wireProfile: profile } = deployment;
  if (profile !== undefined)
    applyHistoryRules(doc, splice, profile.history, anthropicMessages.requests);
  writeBound(doc, splice, "max_tokens", boundFor(request, deployment));
}

function headers(betas: readonly string[]): Readonly<Record<string, string>> {
  return betas.length === 0 ? plainHeaders : { ...plainHeaders, "anthropic-beta": betas.join(",") };
}
