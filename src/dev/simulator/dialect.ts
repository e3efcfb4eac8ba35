import type { SimAnswer } from "./answer.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders, SimError, Troubles } from "./sim-error.ts";
import type { SimRequest } from "./sim-request.ts";

/** Kind of a streamed event. Some faults drop or change only events of certain kinds. */
export type FrameKind = "start" | "content" | "finish" | "usage" | "end" | "ping";

export interface Frame {
  readonly kind: FrameKind;
  /** The text of the `event:` line; absent on the chat-completions wire, which has no such line. */
  readonly event?: string;
  readonly data: string;
}

/** Facts that an answer states in addition to the model's words. */
export interface Envelope {
  readonly serial: string;
  readonly createdS: number;
  readonly model: string;
  readonly includeUsage: boolean;
  /** Fields that replace those of the reported usage. If `usage` is null, no usage is reported. */
  readonly usage: JsonObject | null;
}

/** The provider's side of a chat wire: checks and reads requests, writes answers and errors. */
export interface Dialect {
  findProblem(body: JsonObject, headers: RequestHeaders): SimError | undefined;
  read(body: JsonObject): SimRequest;
  json(answer: SimAnswer, envelope: Envelope): JsonObject;
  models(ids: readonly string[], createdS: number): JsonObject;
  frames(answer: SimAnswer, envelope: Envelope): readonly Frame[];
  readonly error: (error: SimError) => JsonObject;
  errorFrame(error: SimError): Frame;
  readonly troubles: Required<Troubles>;
  readonly requestIdHeader: string;
}

/** Splits text into parts of `charsMax` characters, one more where a surrogate pair would break. */
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
