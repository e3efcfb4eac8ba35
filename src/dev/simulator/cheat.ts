import type { SimAnswer } from "./answer.ts";
import type { Decided } from "./decisions/decision-order.ts";
import type { Dialect, Frame } from "./dialect.ts";
import type { ImageOrder } from "./images/image-order.ts";
import type { Canvas } from "./images/picture.ts";
import type { JsonObject } from "./json.ts";
import type { SimRequest } from "./sim-request.ts";
import type { VideoOrder } from "./videos/video-order.ts";

/**
 * The ways in which a provider breaks a promise of its listing. Every part is optional: without it
 * the provider is honest. The simulator has no cheats of its own; the tests of the conformance
 * suite bring theirs.
 */
export interface Cheat {
  /** Answers with 307 and another path, where it then serves. */
  readonly redirects?: true;
  readonly acceptsWrongKey?: (isStream: boolean) => boolean;
  readonly servesUnknownModel?: (isStream: boolean) => boolean;
  /** The body as a chat provider checks it. */
  readonly readBody?: (body: JsonObject) => JsonObject;
  /** The form of an answer with this status of a refusal. */
  readonly refuse?: (status: number) => { readonly status?: number; readonly isPage?: true };
  readonly chat?: (asked: ChatAsked) => ChatReply;
  readonly image?: ImageCheat;
  readonly video?: VideoCheat;
  readonly decisions?: DecisionCheat;
}

/** A chat request that has passed the checks. */
export interface ChatAsked {
  readonly dialect: Dialect;
  readonly body: JsonObject;
  readonly request: SimRequest;
  /** The number of this answer of the simulator, from 1. */
  readonly number: number;
  /** The values that are kept for later answers. */
  readonly kept: Map<string, unknown>;
}

/** A chat answer before it is put into the format of its wire. */
export interface ChatReply {
  readonly request: SimRequest;
  readonly answer: SimAnswer;
  /** The model that the answer names. */
  readonly model: string;
  readonly hidesUsage?: boolean;
  readonly frames?: (frames: readonly Frame[]) => readonly Frame[];
  readonly json?: (json: JsonObject) => JsonObject;
}

/** The changes to an answer with images. */
export interface ImageCheat {
  /** Images in the answer. */
  readonly count?: (asked: number) => number;
  readonly canvas?: (canvas: Canvas) => Canvas;
  /** The part of the prompt and its number on which the picture depends. */
  readonly seed?: (prompt: string, index: number) => string;
  readonly file?: (bytes: Buffer, call: number) => Buffer;
  /** The order as it is billed. */
  readonly billed?: (order: ImageOrder) => Partial<ImageOrder>;
  /** The model that the answer names. */
  readonly model?: string;
  readonly hidesUsage?: true;
}

/** The changes to a video job and its file. */
export interface VideoCheat {
  /** Accepts more seconds than it makes. */
  readonly acceptsLong?: true;
  /** Every job fails, and reports the cost of a finished one. */
  readonly billsFailed?: true;
  /** The order as it is billed. */
  readonly billed?: (order: VideoOrder) => Partial<VideoOrder>;
  /** Seconds of the film. */
  readonly seconds?: (asked: number) => number;
  /** The seed of the film. */
  readonly seed?: string;
  /** The first job's file is every other one's. */
  readonly isFirst?: true;
  /** The file is this text. */
  readonly page?: string;
  /** Bytes of the film that are there, of all. */
  readonly share?: number;
  /** The model that the record names. */
  readonly model?: string;
}

/** The changes to decisions. */
export interface DecisionCheat {
  /** The body as it is read: the usage is of the whole one. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly decide?: (
    decided: Decided,
    asked: Pick<ChatAsked, "body" | "number" | "kept">,
  ) => Decided;
}

/** Cheats by the names that the fault `cheat:NAME` takes. */
export type Cheats = Readonly<Record<string, Cheat>>;
