import type { Deployment, WireId } from "../../catalog/index.ts";
import type { Refusal, JsonDocument, JsonNode, Splice } from "../../kernel/index.ts";
import type { StreamDecoder, StreamDriver, StreamEncoder } from "./answer/stream-driver.ts";
import type { Check } from "./fields/check-shape.ts";
import type { MediaCollector } from "./fields/common-fields.ts";
import type { AnswerReading, ProviderQuestions } from "./neutral/provider-answer.ts";
import type { AnswerCodec, AnswerLabel } from "./neutral/chat-answer.ts";
import type { ChatCall } from "./neutral/chat-call.ts";
import type { ServedModelNote } from "./answer/answer-bridge.ts";
import type { TranslationIssues } from "./neutral/translation-issues.ts";

/**
 * One chat wire. The folder of a wire exports one such value, and `wires.ts` lists it; no other
 * code names the wires.
 */
export interface Wire {
  /** Its name in manifests and records. */
  readonly id: WireId;
  /** The path of its client route. Errors on this path and below it have the shape of this wire. */
  readonly clientPath: string;
  /** Its name in `POST /v1/route?for=`. */
  readonly dryRunName: string;
  readonly requests: RequestCodec;
  /** JSON answers. */
  readonly answers: AnswerCodec;
  /** Streamed answers. */
  readonly streams: StreamCodec;
  /** The body of an error, in JSON. */
  errorBody(refusal: Refusal, requestId: string): Buffer;
  /** The header with which a provider expects its key. */
  authHeader(key: string): readonly [name: string, value: string];
  /** A free request that shows whether a provider accepts a key. */
  readonly keyCheck: KeyCheck;
  /** Used by conformance checks of chat providers, which are skipped if it is absent. */
  readonly providerQuestions?: ProviderQuestions;
  /** Absent if the wire has no route that counts tokens. */
  readonly tokenCounter?: TokenCounter;
}

/** The request half of a wire. */
export interface RequestCodec {
  /** The path below the deployment's base URL. */
  readonly path: string;
  /** The highest temperature that its providers take. */
  readonly temperatureMax: number;
  /** The parameter in which callers send the id of their end user. */
  readonly userField: string;
  /** Checks the whole body: the type of every known field, and no duplicate keys. */
  readonly checkBody: Check;
  /** A field's place in this wire's own notation: `messages[0].role`, `messages.0.role`. */
  renderPath(path: readonly (string | number)[]): string;
  findMedia(doc: JsonDocument, media: MediaCollector): void;
  /** Decodes for another wire. Fields that cannot be translated go into the notes. */
  decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall;
  /** The body of a translated call. */
  encodeCall(call: ChatCall, target: EncodeTarget): Buffer;
  /** Word ids of the output bounds that are not sent to this deployment. */
  surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[];
  /** Adds the wire's own edits of a same-wire body to the common ones. */
  editBody(doc: JsonDocument, splice: Splice, target: EncodeTarget): void;
  /** True if the usage of its answers reports which cache writes last an hour. */
  readonly countsHourWrites: boolean;
  /** True if this value of a price-relevant field costs what callers pay by default. */
  isUsualPrice(field: "service_tier" | "speed", value: string): boolean;
  /** True if the caller runs tools of this type, so that they cost only tokens. */
  isClientTool(doc: JsonDocument, type: JsonNode): boolean;
  /** Estimates the input tokens of a checked body, fast for any length. */
  countTokens(doc: JsonDocument): number;
  /** Headers for the provider; `betas`: names of the client's beta header that are sent on. */
  headers(betas: readonly string[]): Readonly<Record<string, string>>;
}

/** The deployment that a request is encoded for, and the parts of the request that it needs. */
export interface EncodeTarget {
  readonly deployment: Deployment;
  readonly request: {
    readonly doc: JsonDocument;
    readonly stream: boolean;
    /** Most output tokens: the caller's bound, or the default that is sent to the provider. */
    readonly outputTokens: number;
  };
}

/** The streaming half of a wire. */
export interface StreamCodec {
  /** For a client of another wire. `isStopSequence` is true for the caller's stop sequences. */
  decoder(
    isStopSequence: (word: string) => boolean,
    note: ServedModelNote,
    reading?: AnswerReading,
  ): StreamDecoder;
  encoder(label: AnswerLabel): StreamEncoder;
  /** For a client of the same wire. */
  relay(label: AnswerLabel, note: ServedModelNote, reading?: AnswerReading): StreamDriver;
}

export interface KeyCheck {
  /** Path below the deployment's base URL, with a leading slash; requested with GET. */
  readonly path: string;
  /** Names and values without the provider's key, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The route of a wire that counts the input tokens of a body, which needs no output bound. */
export interface TokenCounter {
  /** The path of its client route. */
  readonly clientPath: string;
  /** The provider's path for counting, below the deployment's base URL. */
  readonly path: string;
  /** Estimates the count without a provider. */
  estimate(doc: JsonDocument): number;
  /** Reads the count from a provider's answer; undefined if it has none. */
  read(json: unknown): number | undefined;
  answerBody(tokens: number): Buffer;
}
