import { Type } from "typebox";

import { asNumber, conforms, textOf } from "../../kernel/index.ts";
import type { Cheat, Cheats } from "./cheat.ts";
import { isObject, type JsonObject } from "./json.ts";
import { anything, be, decimal, fields, flag, listOf, text, whole, type Rule } from "./shape.ts";

export interface FaultPoint {
  readonly at: "accept" | "headers" | "body" | "event";
  readonly count: number;
}

const isSet: Rule = be("true", (value) => value === true);
/** A cost in USD, reported digit for digit. Null, which `fields` does not check, means no cost. */
const amount: Rule = be("an amount", conforms(Type.Union([Type.String(), Type.Number()])));

export interface ImageFault {
  /** Number of images in the answer, whatever number the request has. */
  readonly count?: number;
  /** Size in bytes to which each image is padded before it is encoded in base64. */
  readonly bytes?: number;
  readonly url_only?: true;
  readonly bad_base64?: true;
  readonly not_an_image?: true;
  readonly empty?: true;
  readonly cost?: string | null;
  readonly moderation_flag?: true;
}
const IMAGE = fields({
  count: whole(0),
  bytes: whole(0),
  url_only: isSet,
  bad_base64: isSet,
  not_an_image: isSet,
  empty: isSet,
  cost: amount,
  moderation_flag: isSet,
});

export interface JobFault {
  /** States of the job in order: the create call returns the first, and each poll the next. */
  readonly states?: readonly string[];
  readonly final?: string;
  readonly never?: true;
  /** Milliseconds that each state lasts, however often the client polls. */
  readonly ms?: number;
  readonly code?: string;
  readonly message?: string;
  readonly moderated?: true;
  readonly cost?: string | null;
  readonly bytes?: number;
  readonly no_content?: true;
  /**
   * Fault scripts for other calls about the job: `poll` for its first `poll_times` polls, `content`
   * for requests for its file.
   */
  readonly poll?: string;
  readonly poll_times?: number;
  readonly content?: string;
}
const scripted: Rule = (value, path) => text(value, path) ?? unreadClause(textOf(value));
const JOB = fields({
  states: listOf(text),
  final: text,
  never: isSet,
  ms: whole(0),
  code: text,
  message: text,
  moderated: isSet,
  cost: amount,
  bytes: whole(0),
  no_content: isSet,
  poll: scripted,
  poll_times: whole(0),
  content: scripted,
});

export interface EnvelopeFault {
  readonly success?: boolean;
  readonly code?: number;
  readonly message?: string;
  readonly nested?: true;
  readonly bare?: true;
  readonly empty?: true;
}
const ENVELOPE = fields({
  success: flag,
  code: decimal(0, 100_000),
  message: text,
  nested: isSet,
  bare: isSet,
  empty: isSet,
});

type Reader<T> = (argument: string) => T | undefined;

const READERS = {
  /**
   * Resets the connection at this point: in the headers, after `count` bytes of the body, or after
   * `count` events.
   */
  reset: pointReader(/^(headers)$|^(body|event):(\d{1,9})$/),
  /** Sends nothing from this point on, but keeps the connection open. */
  hang: pointReader(/^(accept|headers)$|^(event):(\d{1,9})$/),
  /** Sends nothing from this point on, until a test releases the answers. */
  hold: pointReader(/^(|accept)$|^(event):(\d{1,9})$/),
  /** Maximum number of bytes of the body that are sent per second. */
  drip: parseNumber,
  status: parseNumber,
  body: (argument: string) => (argument === "html" ? argument : undefined),
  message: parseText,
  retry_after: parseText,
  /** Difference, in bytes, that is added to the true `content-length`. */
  wrong_length: parseNumber,
  content_type: parseText,
  gzip_bomb: parseFlag,
  bad_utf8: parseFlag,
  bad_json_at_event: parseNumber,
  error_at_event: parseNumber,
  no_usage: parseFlag,
  no_terminal: parseFlag,
  endless: parseFlag,
  /** Length in bytes of one long line that is sent at the start of the body. */
  long_line: parseNumber,
  model_echo: parseText,
  error_in_200: parseFlag,
  error_event_first: parseFlag,
  overloaded: parseFlag,
  context_overflow: parseFlag,
  content_filter: parseFlag,
  /** Milliseconds of delay before each event, or before a whole JSON answer. */
  slow: parseNumber,
  /**
   * Maximum delay, in milliseconds, before an answer begins. The seed and the number of the call
   * determine the delay.
   */
  jitter: parseNumber,
  /** Milliseconds by which the simulator's very first answer is delayed. */
  slow_start: parseNumber,
  one_piece: parseFlag,
  /** Fields that replace those of the reported usage. */
  usage: objectReader(anything),
  /** Cuts the JSON document in half. */
  bad_json: parseFlag,
  /** Sends the document without `content-length`. */
  chunked: parseFlag,
  image: objectReader(IMAGE) as Reader<ImageFault>,
  job: objectReader(JOB) as Reader<JobFault>,
  /** Redirects a request for a file to its own address, or to another host name. */
  redirect: (argument: string) =>
    argument === "self" || argument === "other" ? argument : undefined,
  envelope: objectReader(ENVELOPE) as Reader<EnvelopeFault>,
  /** Name of the question that gets no answer. If empty, the first question gets none. */
  missing_answer: (argument: string) => argument,
  extra_answer: parseFlag,
  /** Answers that replace those of the provider, by question name. */
  answers: objectReader(anything),
};

type Readers = typeof READERS;

export type Faults = {
  readonly [Name in keyof Readers]?: Exclude<ReturnType<Readers[Name]>, undefined>;
} & { readonly cheat?: Cheat };

export type FaultReading =
  | { readonly kind: "faults"; readonly faults: Faults }
  | { readonly kind: "unknown"; readonly message: string };

/**
 * Parses a script of clauses `name` or `name:argument`, separated by `;`. In the clause
 * `cheat:NAME`, NAME is a key of `cheats`.
 */
export function readFaults(script: string, cheats: Cheats = {}): FaultReading {
  const faults: Record<string, unknown> = {};
  for (const clause of splitClauses(script)) {
    const [, name = "", argument = ""] = /^([^:]*):?(.*)$/s.exec(clause) ?? [];
    const cheat =
      name === "cheat" && Object.hasOwn(cheats, argument) ? cheats[argument] : undefined;
    const value = isFaultName(name) ? READERS[name](argument) : cheat;
    if (value === undefined) return { kind: "unknown", message: unknownFault(clause) };
    faults[name] = value;
  }
  return { kind: "faults", faults };
}

/* Splits a script at its semicolons, but not at those in the JSON of an argument. */
function splitClauses(script: string): readonly string[] {
  const clauses = script.match(/\s*\w+:\{(?:"(?:[^"\\]|\\.)*"|[^";])*[^;]*|[^;]+/g) ?? [];
  return clauses.map((clause) => clause.trim()).filter((clause) => clause !== "");
}

function unreadClause(script: string): string | undefined {
  const reading = readFaults(script);
  return reading.kind === "unknown" ? reading.message : undefined;
}

function isFaultName(name: string): name is keyof Readers {
  return Object.hasOwn(READERS, name);
}

function unknownFault(clause: string): string {
  return `no fault is written ${JSON.stringify(clause)}; known: ${Object.keys(READERS).join(", ")}`;
}

function parseFlag(argument: string): true | undefined {
  return argument === "" ? true : undefined;
}

function parseText(argument: string): string | undefined {
  return argument === "" ? undefined : argument;
}

function parseNumber(argument: string): number | undefined {
  return /^-?\d{1,10}$/.test(argument) ? Number(argument) : undefined;
}

function pointReader(form: RegExp): Reader<FaultPoint> {
  return (argument) => {
    const match = form.exec(argument);
    if (match === null) return undefined;
    const [, plain, counted, count = 0] = match;
    const at = (plain ?? counted) || "accept";
    return { at: at as FaultPoint["at"], count: Number(count) };
  };
}

/** Reads a JSON object. Converts a numeric `cost` to text, because costs are only printed. */
function objectReader(rule: Rule): Reader<JsonObject> {
  return (argument) => {
    try {
      const value: unknown = JSON.parse(argument);
      if (!isObject(value) || rule(value, "") !== undefined) return undefined;
      const cost = asNumber(value["cost"]);
      return { ...value, ...(cost !== undefined && { cost: String(cost) }) };
    } catch {
      return undefined;
    }
  };
}
