import type { SimAnswer } from "./answer.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders, SimError, Troubles } from "./sim-error.ts";
import type { SimRequest } from "./sim-request.ts";

/** The purpose of a stream event; some faults drop or break certain kinds. */
export type FrameKind = "start" | "content" | "finish" | "usage" | "end" | "ping";

export interface Frame {
  readonly kind: FrameKind;
  /** The `event:` line; undefined if there is none. */
  readonly event?: string;
  readonly data: string;
}

/** The values that an answer has besides its content. */
export interface Envelope {
  /** Unique part of the ids of this answer. */
  readonly serial: string;
  readonly createdS: number;
  /** The model id that the answer names. */
  readonly model: string;
  readonly includeUsage: boolean;
  /** Fields that replace those of the reported usage; `null` reports no usage. */
  readonly usage: JsonObject | null;
}

/** One of the two chat wires on the provider's side. */
export interface Dialect {
  /** The provider's first refusal; undefined if it accepts the request. */
  findProblem(body: JsonObject, headers: RequestHeaders): SimError | undefined;
  read(body: JsonObject): SimRequest;
  json(answer: SimAnswer, envelope: Envelope): JsonObject;
  models(ids: readonly string[], createdS: number): JsonObject;
  frames(answer: SimAnswer, envelope: Envelope): readonly Frame[];
  readonly error: (error: SimError) => JsonObject;
  errorFrame(error: SimError): Frame;
  /** Provider troubles, with the status and message that they have on this wire. */
  readonly troubles: Required<Troubles>;
  readonly requestIdHeader: string;
}

/** Splits text into pieces of at most `charsMax`, never within a surrogate pair. */
export function pieces(text: string, charsMax: number): readonly string[] {
  const parts: string[] = [];
  let part = "";
  for (const char of text) {
    part += char;
    if (part.length >= charsMax) {
      parts.push(part);
      part = "";
    }
  }
  if (part !== "") parts.push(part);
  return parts;
}
