import type { SimAnswer } from "./answer.ts";
import type { Decided } from "./decisions/decision-order.ts";
import type { Dialect, Frame } from "./dialect.ts";
import type { ImageOrder } from "./images/image-order.ts";
import type { Canvas } from "./images/picture.ts";
import type { JsonObject } from "./json.ts";
import type { SimRequest } from "./sim-request.ts";
import type { VideoOrder } from "./videos/video-order.ts";

/**
 * How a simulated provider deviates from its listing. Where a property is absent, the provider is
 * honest. Only the tests of the conformance suite define cheats.
 */
export interface Cheat {
  /** Answers with 307, and serves the request at the target of the redirect. */
  readonly redirects?: true;
  readonly acceptsWrongKey?: (isStream: boolean) => boolean;
  readonly servesUnknownModel?: (isStream: boolean) => boolean;
  readonly readBody?: (body: JsonObject) => JsonObject;
  /** Changes a refusal with this status: gives it another status, or sends a page of HTML. */
  readonly refuse?: (status: number) => { readonly status?: number; readonly isPage?: true };
  readonly chat?: (asked: ChatAsked) => ChatReply;
  readonly image?: ImageCheat;
  readonly video?: VideoCheat;
  readonly decisions?: DecisionCheat;
}

export interface ChatAsked {
  readonly dialect: Dialect;
  readonly body: JsonObject;
  readonly request: SimRequest;
  /** Number of this answer among all answers to chats, images and decisions, from 1. */
  readonly number: number;
  /** Values that an answer stores for later answers. */
  readonly kept: Map<string, unknown>;
}

/** A chat answer before it is put into the format of its wire. */
export interface ChatReply {
  readonly request: SimRequest;
  readonly answer: SimAnswer;
  readonly model: string;
  readonly hidesUsage?: boolean;
  readonly frames?: (frames: readonly Frame[]) => readonly Frame[];
  readonly json?: (json: JsonObject) => JsonObject;
}

export interface ImageCheat {
  readonly count?: (asked: number) => number;
  readonly canvas?: (canvas: Canvas) => Canvas;
  /** Returns the seed of a picture. Pictures with equal seeds are equal. */
  readonly seed?: (prompt: string, index: number) => string;
  readonly file?: (bytes: Buffer, call: number) => Buffer;
  /** Replaces fields of the request when usage is computed, but not when images are made. */
  readonly billed?: (order: ImageOrder) => Partial<ImageOrder>;
  readonly model?: string;
  readonly hidesUsage?: true;
}

export interface VideoCheat {
  /** If set, the provider accepts requests for films that are longer than its own maximum. */
  readonly acceptsLong?: true;
  /** If set, every job fails but reports the cost of a completed one. */
  readonly billsFailed?: true;
  /** Replaces fields of the request when the cost is computed, but not when the film is made. */
  readonly billed?: (order: VideoOrder) => Partial<VideoOrder>;
  readonly seconds?: (asked: number) => number;
  /** Seed of the film's content. Films with equal seeds and equal length are equal. */
  readonly seed?: string;
  /** If set, every job returns the film of the job whose file was the first to be fetched. */
  readonly isFirst?: true;
  /** This text is sent as the file instead of a film. */
  readonly page?: string;
  /** Fraction of the film's data that the file contains, from 0 to 1. */
  readonly share?: number;
  readonly model?: string;
}

export interface DecisionCheat {
  /** Changes the body from which the provider decides. The original body determines the usage. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly decide?: (
    decided: Decided,
    asked: Pick<ChatAsked, "body" | "number" | "kept">,
  ) => Decided;
}

/** Cheats by the NAME that the fault `cheat:NAME` uses. */
export type Cheats = Readonly<Record<string, Cheat>>;
