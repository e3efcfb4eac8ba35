import type { Deployment, WireId } from "../../catalog/index.ts";
import type { Refusal, JsonDocument, JsonNode, Splice } from "../../kernel/index.ts";
import type { StreamDecoder, StreamDriver, StreamEncoder } from "./answer/stream-driver.ts";
import type { Check } from "./fields/check-shape.ts";
import type { AskedBound, MediaCollector } from "./fields/common-fields.ts";
import type { AnswerReading, ProviderQuestions } from "./neutral/provider-answer.ts";
import type { AnswerCodec, AnswerLabel } from "./neutral/chat-answer.ts";
import type { ChatCall } from "./neutral/chat-call.ts";
import type { ServedModelNote } from "./answer/answer-bridge.ts";
import type { TranslationIssues } from "./neutral/translation-issues.ts";

/** One chat wire. `wires.ts` has the only list of all wires. */
export interface Wire {
  readonly id: WireId;
  /** Errors on this path and below it have the format of this wire. */
  readonly clientPath: string;
  /** The wire's name in the query of a dry run, `POST /v1/route?for=`. */
  readonly dryRunName: string;
  readonly requests: RequestCodec;
  readonly answers: AnswerCodec;
  readonly streams: StreamCodec;
  errorBody(refusal: Refusal, requestId: string): string;
  authHeader(key: string): readonly [name: string, value: string];
  /** A request that costs nothing and shows whether a provider accepts a key. */
  readonly keyCheck: KeyCheck;
  /** Writes and reads the calls of conformance checks and surveys; absent: the wire has none. */
  readonly providerQuestions?: ProviderQuestions;
  /** Absent: the wire has no route that counts input tokens. */
  readonly tokenCounter?: TokenCounter;
}

export interface RequestCodec {
  /** The path of chat requests below the deployment's base URL. */
  readonly path: string;
  readonly temperatureMax: number;
  /** The parameter in which clients send the id of their end user. */
  readonly userField: string;
  /** The parameter in which clients limit an answer to one tool call. */
  readonly parallelField: string;
  /** True if system texts have a member of their own; they can also be messages. */
  readonly hasSystemMember: boolean;
  /** Checks the types of known fields, and refuses duplicate keys in the objects that it checks. */
  readonly checkBody: Check;
  /** Writes a path in the wire's notation: `messages[0].role` or `messages.0.role`. */
  renderPath(path: readonly (string | number)[]): string;
  findMedia(doc: JsonDocument, media: MediaCollector): void;
  /** Decodes a body for another wire. Fields that cannot be translated are added to `notes`. */
  decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall;
  encodeCall(call: ChatCall, target: EncodeTarget): Buffer;
  /** Word ids (`WordTable`) of the output-bound fields that are removed for this deployment. */
  surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[];
  /** Edits a body that stays in this wire, for example by the wire profile and the output bound. */
  editBody(doc: JsonDocument, splice: Splice, target: EncodeTarget): void;
  /** True if the usage that providers report tells how many cache writes last an hour. */
  readonly countsHourWrites: boolean;
  /** True if a request with this value of `field` costs the provider's usual price. */
  isUsualPrice(field: "service_tier" | "speed", value: string): boolean;
  /** True if the client runs tools of this type, so that they cost only tokens. */
  readonly isClientTool: (doc: JsonDocument, type: JsonNode) => boolean;
  /** Estimates the input tokens of a checked body. It is fast for a body of any length. */
  countTokens(doc: JsonDocument): number;
  /** `betas` are the names of the client's beta header that are forwarded. */
  headers(betas: readonly string[]): Readonly<Record<string, string>>;
}

export interface EncodeTarget {
  readonly deployment: Deployment;
  readonly request: AskedBound & { readonly doc: JsonDocument; readonly stream: boolean };
}

export interface StreamCodec {
  /** Decodes for a client of another wire, whose stop sequences `isStopSequence` recognizes. */
  decoder(
    isStopSequence: (word: string) => boolean,
    note: ServedModelNote,
    reading?: AnswerReading,
  ): StreamDecoder;
  encoder(label: AnswerLabel): StreamEncoder;
  relay(label: AnswerLabel, note: ServedModelNote, reading?: AnswerReading): StreamDriver;
}

export interface KeyCheck {
  /** A path below the deployment's base URL, with a leading slash. It is requested with GET. */
  readonly path: string;
  /** Header names in lower case. The header with the provider's key is not among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A route that counts the input tokens of a body. The body needs no output bound. */
export interface TokenCounter {
  readonly clientPath: string;
  readonly path: string;
  estimate(doc: JsonDocument): number;
  read(json: unknown): number | undefined;
  answerBody(tokens: number): Buffer;
}
