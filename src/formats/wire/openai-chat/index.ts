import type { Deployment } from "../../../catalog/index.ts";
import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NODE_SIZE,
  pathText,
  type Splice,
} from "../../../kernel/index.ts";
import type { EncodeTarget, Wire } from "../contract.ts";
import { readName, word } from "../fields/chat-vocabulary.ts";
import { isEmptyArray } from "../fields/check-shape.ts";
import {
  BOUND_NAMES,
  boundFor,
  type OutputBoundName,
  outputBoundName,
  sentBounds,
  writeBound,
} from "../fields/common-fields.ts";
import { applyHistoryRules } from "../history-rules.ts";
import { NO_EFFORT } from "../neutral/chat-call.ts";
import { aggregatorControls, applyProfile } from "../wire-profile.ts";
import { openaiChatAnswers } from "./answer-json.ts";
import { checkBody, findMedia } from "./check-request.ts";
import { errorBody } from "./chunks.ts";
import { decodeCall } from "./decode-call.ts";
import { encodeCall } from "./encode-request.ts";
import { providerQuestions } from "./provider-questions.ts";
import { OpenaiChatDecoder } from "./stream-decoder.ts";
import { OpenaiChatEncoder } from "./stream-encoder.ts";
import { OpenaiChatRelay } from "./stream-relay.ts";
import { signatureJson, PLACEHOLDER_SIGNATURE } from "./tool-calls.ts";

const headers = { "content-type": "application/json" };

export const openaiChat: Wire = {
  id: "wire_a",
  clientPath: "/v1/chat/completions",
  dryRunName: "chat",
  requests: {
    path: "/chat/completions",
    temperatureMax: 2,
    userField: "user",
    parallelField: "parallel_tool_calls",
    hasSystemMember: false,
    checkBody,
    renderPath: pathText,
    findMedia,
    decodeCall,
    encodeCall,
    surplusBounds,
    editBody,
    countsHourWrites: false,
    isUsualPrice: (field, value) => field === "service_tier" && value === "default",
    isClientTool: (doc, type) => doc.word(type) === word.function || doc.word(type) === word.custom,
    // This count is never shown, because answers of this wire do not begin with a token count.
    countTokens: (doc) => doc.body.length,
    headers: () => headers,
  },
  answers: openaiChatAnswers,
  streams: {
    decoder: (isStopSequence, note, reading = {}) =>
      new OpenaiChatDecoder({ isStopSequence, note, reading }),
    encoder: (label) => new OpenaiChatEncoder(label),
    relay: (label, note, reading) => new OpenaiChatRelay(label, note, reading),
  },
  errorBody,
  providerQuestions,
  authHeader: (key) => ["authorization", `Bearer ${key}`],
  keyCheck: { path: "/models", headers: {} },
};

function surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[] {
  const kept = boundNameFor(doc, deployment);
  return BOUND_NAMES.filter((name) => name !== kept).map((name) => word[name]);
}

function boundNameFor(doc: JsonDocument, deployment: Deployment): OutputBoundName {
  const sent = sentBounds(doc);
  return outputBoundName(deployment, sent.length === 1 ? sent[0] : undefined);
}

function editBody(doc: JsonDocument, splice: Splice, { request, deployment }: EncodeTarget): void {
  const controls = aggregatorControls(doc, deployment);
  if (controls !== undefined) splice.insert("provider", controls);
  removeClientCopies(doc, splice);
  const { wireProfile: profile } = deployment;
  applyProfile(doc, splice, deployment, "provider");
  if (profile !== undefined) applyHistoryRules(doc, splice, profile.history, openaiChat.requests);
  if (profile?.history.has("no-effort-with-tools") === true) fillEffort(doc, splice, deployment);
  if (profile?.toolSignature !== undefined) addPlaceholderSignatures(doc, splice);
  writeBound(doc, splice, boundNameFor(doc, deployment), boundFor(request, deployment));
  if (request.stream && profile?.usageUnasked !== true) askForUsage(doc, splice);
}

/** A client's own effort stays: if the provider refuses it beside tools, its answer says why. */
function fillEffort(doc: JsonDocument, splice: Splice, { fixedBody = [] }: Deployment): void {
  const tools = doc.present(0, word.tools);
  if (tools === ABSENT || isEmptyArray(doc, tools)) return;
  const effort = doc.member(0, word.reasoning_effort);
  if (effort !== ABSENT) {
    if (doc.isNull(effort)) splice.replace(effort, NO_EFFORT);
  } else if (fixedBody.every(({ name }) => name !== "reasoning_effort")) {
    splice.insert("reasoning_effort", NO_EFFORT);
  }
}

/** Requests usage in a stream. Otherwise the provider reports none, and nothing could be billed. */
function askForUsage(doc: JsonDocument, splice: Splice): void {
  const yes = "true" as JsonText;
  const asking = '{"include_usage":true}' as JsonText;
  const options = doc.member(0, word.stream_options);
  if (options === ABSENT) splice.insert("stream_options", asking);
  else if (doc.isNull(options)) splice.replace(options, asking);
  else {
    const asked = doc.member(options, word.include_usage);
    if (asked === ABSENT) splice.insertInto(options, "include_usage", yes);
    else if (!doc.isTrue(asked)) splice.replace(asked, yes);
  }
}

/**
 * Removes fields that strict servers refuse as unknown: the copies (`parsed`, `parsed_arguments`)
 * that helpers of official clients send back, and the name that Codex repeats beside `function`.
 */
function removeClientCopies(doc: JsonDocument, splice: Splice): void {
  eachItem(doc, doc.present(0, word.messages), (message) => {
    if (doc.member(message, word.parsed) !== ABSENT) splice.removeFrom(message, [word.parsed]);
    eachItem(doc, doc.present(message, word.tool_calls), (call) => {
      const called = doc.present(call, word.function);
      if (called !== ABSENT) splice.removeFrom(called, [word.parsed_arguments]);
    });
  });
  eachItem(doc, doc.present(0, word.tools), (tool) => {
    const isNamed = doc.present(tool, word.function) !== ABSENT;
    if (isNamed) splice.removeFrom(tool, [word.name]);
  });
}

function eachItem(doc: JsonDocument, array: JsonNode, act: (item: JsonNode) => void): void {
  if (array === ABSENT) return;
  const end = doc.next(array);
  for (let item = array + NODE_SIZE; item < end; item = doc.next(item)) act(item);
}

/** Adds a placeholder, because many clients lose the signature that the provider requires. */
function addPlaceholderSignatures(doc: JsonDocument, splice: Splice): void {
  eachItem(doc, doc.present(0, word.messages), (message) => {
    const calls = doc.present(message, word.tool_calls);
    const [first, ...others] = calls === ABSENT ? [] : doc.items(calls);
    if (first === undefined || [first, ...others].some((call) => isSigned(doc, call))) return;
    for (const key of doc.keys(first)) {
      if (readName(doc, key) === MEMBER) splice.removeKey(first, key);
    }
    splice.insertInto(first, MEMBER, signatureJson(PLACEHOLDER_SIGNATURE) as JsonText);
  });
}

const MEMBER = "extra_content";

function isSigned(doc: JsonDocument, call: JsonNode): boolean {
  const google = findMember(doc, findMember(doc, call, MEMBER), "google");
  const signature = findMember(doc, google, "thought_signature");
  return (
    signature !== ABSENT && doc.isString(signature) && doc.end(signature) - doc.start(signature) > 2
  );
}

function findMember(doc: JsonDocument, object: JsonNode, name: string): JsonNode {
  if (object === ABSENT || !doc.isObject(object)) return ABSENT;
  const key = doc.keys(object).find((each) => readName(doc, each) === name);
  return key === undefined ? ABSENT : doc.valueOf(key);
}
