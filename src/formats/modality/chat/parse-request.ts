import {
  ABSENT,
  FORBIDDEN_KEYS,
  invalidRequest,
  type JsonDocument,
  type KeyRules,
  OUTPUT_TOKENS_DEFAULT,
  OUTPUT_TOKENS_MAX,
  OUTPUT_TOKENS_MIN,
  readJsonObject,
  refusal,
  type Refused,
  refused,
  type Result,
} from "../../../kernel/index.ts";
import type { RequestCodec, Wire } from "../../wire/contract.ts";
import { chatVocabulary, word } from "../../wire/fields/chat-vocabulary.ts";
import { isEmptyArray } from "../../wire/fields/check-shape.ts";
import {
  MediaCollector,
  type MediaPart,
  ParsedBody,
  sentBounds,
} from "../../wire/fields/common-fields.ts";
import { findCredential } from "../../wire/fields/forbidden-fields.ts";
import type { CallRequest, ClientRequest, Conversation } from "../../wire/modality.ts";
import type { ChatCall } from "../../wire/neutral/chat-call.ts";
import { headerName, TranslationIssues } from "../../wire/neutral/translation-issues.ts";
import { findPricedFields, type PricedFields } from "../../wire/price-guard.ts";
import { findBetaFields, NO_DROPS, type SameWireDrops } from "./beta-fields.ts";

export function parseChatRequest(
  wire: Wire,
  client: ClientRequest,
): Result<{ readonly request: ParsedChatRequest }> {
  const checked = checkBody(wire.requests, client.body);
  if (!checked.ok) return checked;
  const { doc } = checked;
  const bound = readOutputBound(doc);
  if (!bound.ok) return bound;
  return { ok: true, request: new ParsedChatRequest(wire, client, doc, bound.tokens) };
}

const BETA_HEADER = "anthropic-beta";

/** Names in the client's `anthropic-beta`. `kept` go to wire_b providers; `others` are dropped. */
export interface BetaNames {
  readonly kept: readonly string[];
  readonly others: readonly string[];
}

/** Matches a beta name that may be forwarded, with or without a date such as `-2025-05-14`. */
const allowed = new RegExp(
  "^(?:prompt-caching|extended-cache-ttl|token-efficient-tools|fine-grained-tool-streaming" +
    "|interleaved-thinking|claude-code|oauth|computer-use)(?:-\\d{4}-?\\d{2}-?\\d{2})?$",
);

const none: BetaNames = { kept: [], others: [] };

function splitBetaNames(header: string | undefined): BetaNames {
  if (header === undefined) return none;
  const kept = new Set<string>();
  const others = new Set<string>();
  for (const part of header.split(",")) {
    const name = part.trim();
    if (allowed.test(name)) kept.add(name);
    else if (name !== "") others.add(headerName(name));
  }
  return { kept: [...kept], others: [...others] };
}

/** In free data, such as a tool's schema, customers choose the keys, so fewer are forbidden. */
const keyRules: KeyRules = {
  forbidden: FORBIDDEN_KEYS,
  freeData: [
    ["tools", "", "function", "parameters"],
    ["functions", "", "parameters"],
    ["response_format", "json_schema", "schema"],
    ["tools", "", "input_schema"],
    ["tools", "", "input_examples"],
    ["output_config", "format", "schema"],
    ["messages", "", "content", "", "input"],
  ],
  repeated: "tools",
};

export function checkBody(
  codec: RequestCodec,
  body: Buffer,
): Result<{ readonly doc: JsonDocument }> {
  const read = readJsonObject(body, chatVocabulary, keyRules);
  if (!read.ok) return read;
  const { doc } = read;
  const found = codec.checkBody(doc, 0) ?? findCredential(doc);
  if (found !== undefined) {
    return refused(invalidRequest(`${codec.renderPath(found.path)} ${found.message}`));
  }
  return doc.present(0, word.thread) === ABSENT ? read : refused(noThread);
}

/**
 * Refuses `thread`, which names a conversation that one provider stores. Anthropic's tool runner
 * recognizes this error code and then sends the whole conversation.
 */
const noThread = refusal(
  "invalid_request",
  "thread is not taken: the gateway stores no conversations; send the whole " +
    "conversation without it",
  { errorCode: "thread_unsupported_request" },
);

/** A nameless conversation is recognized by its first bytes, as a provider's prompt cache does. */
const CONVERSATION_START_BYTES = 1_024;

/** A checked chat request. It is decoded only if a provider speaks another wire. */
export class ParsedChatRequest extends ParsedBody implements CallRequest {
  readonly wire: Wire;
  readonly body: Buffer;
  readonly stream: boolean;
  /** True if the client of a wire_a stream asked for a usage chunk. */
  readonly wantsUsageChunk: boolean;
  /** True if the client of a wire_a request uses `functions`, the older format of `tools`. */
  readonly usesFunctions: boolean;
  /** True if the client of a wire_a request chose the tools to call by name. */
  readonly namesTool: boolean;
  readonly outputTokens: number;
  readonly hasDefaultBound: boolean;
  /** The number of log-probability entries that the answer has for each output token; usually 0. */
  readonly logprobsPerToken: number;
  /** The client's temperature; absent if the client sent none. Some wires accept at most 1. */
  declare readonly temperature?: number;
  readonly mediaParts: readonly MediaPart[];
  /** One token per byte outside inline images, plus an allowance for each media part. */
  readonly estimatedInputTokens: number;
  readonly betas: BetaNames;
  #decoded: DecodedCall | undefined;
  #priced: PricedFields | undefined;
  #betaFields: SameWireDrops | undefined;

  constructor(wire: Wire, client: ClientRequest, doc: JsonDocument, outputTokens: number) {
    super(doc);
    const media = new MediaCollector();
    wire.requests.findMedia(doc, media);
    const temperature = doc.present(0, word.temperature);
    const stream = doc.member(0, word.stream);
    this.wire = wire;
    this.body = doc.body;
    this.stream = stream >= 0 && doc.isTrue(stream);
    this.wantsUsageChunk = readWantsUsageChunk(doc);
    const functions = doc.present(0, word.functions);
    this.usesFunctions = functions !== ABSENT && !isEmptyArray(doc, functions);
    this.namesTool = readNamesTool(doc);
    this.outputTokens = outputTokens;
    this.hasDefaultBound = sentBounds(doc).length === 0;
    this.logprobsPerToken = readLogprobsPerToken(doc);
    if (temperature >= 0) this.temperature = doc.number(temperature);
    this.mediaParts = media.parts;
    this.estimatedInputTokens = doc.body.length + media.extraTokens;
    this.betas = splitBetaNames(client.header(BETA_HEADER));
  }

  conversation(): Conversation | undefined {
    const { doc } = this;
    for (const id of [word.prompt_cache_key, word.session_id]) {
      const named = doc.present(0, id);
      if (named === ABSENT || !doc.isString(named)) continue;
      return { isNamed: true, bytes: doc.body.subarray(doc.start(named), doc.end(named)) };
    }
    const messages = doc.present(0, word.messages);
    if (messages === ABSENT) return undefined;
    const start = doc.start(messages);
    const end = Math.min(doc.end(messages), start + CONVERSATION_START_BYTES);
    return { isNamed: false, bytes: doc.body.subarray(start, end) };
  }

  pricedFields(): PricedFields {
    this.#priced ??= findPricedFields(this.doc, this.wire.requests);
    return this.#priced;
  }

  /** Body fields that are dropped, because they need a beta name that is not forwarded. */
  betaFields(): SameWireDrops {
    const { others } = this.betas;
    this.#betaFields ??= others.length === 0 ? NO_DROPS : findBetaFields(this.doc, others);
    return this.#betaFields;
  }

  /** Estimates how many input tokens a provider will count, for display and never for billing. */
  countInputTokens(): number {
    return this.wire.requests.countTokens(this.doc);
  }

  /** Decodes the call for another wire, once. Do not use it unless `needs.refused` is empty. */
  decoded(): DecodedCall {
    if (this.#decoded === undefined) {
      const needs = new TranslationIssues();
      this.#decoded = { call: this.wire.requests.decodeCall(this.doc, needs), needs };
    }
    return this.#decoded;
  }
}

export interface DecodedCall {
  readonly call: ChatCall;
  readonly needs: TranslationIssues;
}

function readWantsUsageChunk(doc: JsonDocument): boolean {
  const options = doc.present(0, word.stream_options);
  if (options === ABSENT || !doc.isObject(options)) return false;
  const asked = doc.member(options, word.include_usage);
  return asked !== ABSENT && doc.isTrue(asked);
}

/** On wire_a, a choice by name is an object; `auto`, `none` and `required` are strings. */
function readNamesTool(doc: JsonDocument): boolean {
  const sent = doc.present(0, word.tool_choice);
  const choice = sent === ABSENT ? doc.present(0, word.function_call) : sent;
  return choice !== ABSENT && doc.isObject(choice);
}

/** Counts one entry for the token itself and one for each of its alternatives. */
function readLogprobsPerToken(doc: JsonDocument): number {
  const asked = doc.member(0, word.logprobs);
  if (asked === ABSENT || !doc.isTrue(asked)) return 0;
  return 1 + Math.max(0, readNumber(doc, word.top_logprobs) ?? 0);
}

function readOutputBound(doc: JsonDocument): Result<{ readonly tokens: number }> {
  const plain = readNumber(doc, word.max_tokens);
  const completion = readNumber(doc, word.max_completion_tokens);
  if (plain !== undefined && completion !== undefined && plain !== completion) {
    return outOfBound("max_tokens and max_completion_tokens differ; send one of them");
  }
  const tokens = plain ?? completion;
  if (tokens === undefined) return { ok: true, tokens: OUTPUT_TOKENS_DEFAULT };
  if (tokens < OUTPUT_TOKENS_MIN || tokens > OUTPUT_TOKENS_MAX) {
    const name = plain === undefined ? "max_completion_tokens" : "max_tokens";
    return outOfBound(
      `${name} must be from ${OUTPUT_TOKENS_MIN} to ${OUTPUT_TOKENS_MAX}; lower your client's setting ` +
        "for the longest answer (max_tokens, maxTokens, maxOutputTokens)",
    );
  }
  return { ok: true, tokens };
}

function readNumber(doc: JsonDocument, wordId: number): number | undefined {
  const node = doc.present(0, wordId);
  return node === ABSENT ? undefined : doc.number(node);
}

function outOfBound(message: string): Refused {
  const limit = { scope: "model", kind: "output_bound" } as const;
  return refused(refusal("gateway_error", message, { status: 400, retryable: false, limit }));
}
