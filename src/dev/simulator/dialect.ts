import type { SimAnswer } from "./answer.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders, SimError, Troubles } from "./sim-error.ts";
import type { SimRequest } from "./sim-request.ts";

/** The purpose of an event in a stream: some faults leave out or break certain kinds. */
export type FrameKind = "start" | "content" | "finish" | "usage" | "end" | "ping";

export interface Frame {
  readonly kind: FrameKind;
  /** The `event:` line; undefined = none. */
  readonly event?: string;
  readonly data: string;
}

/** The facts that the envelope of an answer needs besides the answer. */
export interface Envelope {
  /** Unique part of the ids of this answer. */
  readonly serial: string;
  readonly createdS: number;
  /** The model id that the answer names. */
  readonly model: string;
  readonly includeUsage: boolean;
  /** Fields laid over the reported usage; `null` = report none. */
  readonly usage: JsonObject | null;
}

/** One of the two wires, as the simulated provider speaks it. */
export interface Dialect {
  /** The first thing the provider would complain about; undefined = it accepts the request. */
  findProblem(body: JsonObject, headers: RequestHeaders): SimError | undefined;
  read(body: JsonObject): SimRequest;
  json(answer: SimAnswer, envelope: Envelope): JsonObject;
  models(ids: readonly string[], createdS: number): JsonObject;
  frames(answer: SimAnswer, envelope: Envelope): readonly Frame[];
  readonly error: (error: SimError) => JsonObject;
  errorFrame(error: SimError): Frame;
  /** The troubles with the status and message of this wire. */
  readonly troubles: Required<Troubles>;
  readonly requestIdHeader: string;
}

/** Text in pieces of a few characters, as a model streams it; pairs of surrogates stay together. */
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
