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
  /** Answers with 307, and serves at the path to which it redirects. */
  readonly redirects?: true;
  readonly acceptsWrongKey?: (isStream: boolean) => boolean;
  readonly servesUnknownModel?: (isStream: boolean) => boolean;
  /** Changes the body before it is checked and read. */
  readonly readBody?: (body: JsonObject) => JsonObject;
  /** Changes the status or the form of a refusal with this status. */
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
  /** Values that one answer stores for later ones. */
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

/** Changes to an answer with images. */
export interface ImageCheat {
  /** The number of images in the answer. */
  readonly count?: (asked: number) => number;
  readonly canvas?: (canvas: Canvas) => Canvas;
  /** The seed of a picture, from the prompt and the picture's index. */
  readonly seed?: (prompt: string, index: number) => string;
  readonly file?: (bytes: Buffer, call: number) => Buffer;
  /** Changes the order before it is billed. */
  readonly billed?: (order: ImageOrder) => Partial<ImageOrder>;
  /** The model that the answer names. */
  readonly model?: string;
  readonly hidesUsage?: true;
}

/** Changes to a video job and its file. */
export interface VideoCheat {
  /** Accepts longer films than it renders. */
  readonly acceptsLong?: true;
  /** Every job fails, but reports the cost of a finished one. */
  readonly billsFailed?: true;
  /** Changes the order before it is billed. */
  readonly billed?: (order: VideoOrder) => Partial<VideoOrder>;
  /** The seconds of the rendered film. */
  readonly seconds?: (asked: number) => number;
  /** The seed of the film. */
  readonly seed?: string;
  /** Every job returns the first job's file. */
  readonly isFirst?: true;
  /** This text is returned as the file. */
  readonly page?: string;
  /** The share of the film's bytes in the file, from 0 to 1. */
  readonly share?: number;
  /** The model that the record names. */
  readonly model?: string;
}

/** Changes to decisions. */
export interface DecisionCheat {
  /** Changes the body before it is decided on; the usage stays that of the original. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly decide?: (
    decided: Decided,
    asked: Pick<ChatAsked, "body" | "number" | "kept">,
  ) => Decided;
}

/** Cheats by NAME of the fault `cheat:NAME`. */
export type Cheats = Readonly<Record<string, Cheat>>;
