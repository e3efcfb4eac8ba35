import type { Cheat, Cheats } from "./cheat.ts";
import { isObject, type JsonObject } from "./json.ts";
import { anything, be, decimal, fields, flag, listOf, text, whole, type Rule } from "./shape.ts";

export interface FaultPoint {
  readonly at: "accept" | "headers" | "body" | "event";
  readonly count: number;
}

const isSet: Rule = be("true", (value) => value === true);
/** In USD, digit for digit; null if none is reported. */
const amount: Rule = be("an amount", (value) => /^(string|number)$/.test(typeof value));

/** A fault of the images in an answer. */
export interface ImageFault {
  /** Images in the answer, whatever was asked for. */
  readonly count?: number;
  /** Each image is padded to so many bytes before base64. */
  readonly bytes?: number;
  readonly url_only?: true;
  readonly bad_base64?: true;
  readonly not_an_image?: true;
  readonly empty?: true;
  readonly cost?: string | null;
  /** No images; moderation took them. */
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

/** How a video job goes, and what goes wrong with the calls about it. */
export interface JobFault {
  /** In order; the create shows the first, each poll one more. */
  readonly states?: readonly string[];
  /** After the last of them. */
  readonly final?: string;
  readonly never?: true;
  /** Each state lasts so long, independent of polls. */
  readonly ms?: number;
  readonly code?: string;
  readonly message?: string;
  readonly moderated?: true;
  readonly cost?: string | null;
  readonly bytes?: number;
  readonly no_content?: true;
  /** Fault scripts of the polls (the first `poll_times` of them) and of the file. */
  readonly poll?: string;
  readonly poll_times?: number;
  readonly content?: string;
}
const scripted: Rule = (value, path) =>
  typeof value === "string" ? unreadClause(value) : text(value, path);
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

/** A fault of an answer's envelope. */
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

/** Every fault: how its argument is read; undefined if it is not understood. */
const READERS = {
  /** The connection is reset in the headers, after `count` bytes, or after `count` events. */
  reset: pointReader(/^(headers)$|^(body|event):(\d{1,9})$/),
  /** Nothing more comes from there on, and the connection stays open. */
  hang: pointReader(/^(accept|headers)$|^(event):(\d{1,9})$/),
  /** From here on nothing is sent until the simulator receives a release request. */
  hold: pointReader(/^(|accept)$|^(event):(\d{1,9})$/),
  /** The body comes at so many bytes a second. */
  drip: parseNumber,
  status: parseNumber,
  body: (argument: string) => (argument === "html" ? argument : undefined),
  message: parseText,
  retry_after: parseText,
  /** Added to the true `content-length`. */
  wrong_length: parseNumber,
  content_type: parseText,
  gzip_bomb: parseFlag,
  bad_utf8: parseFlag,
  bad_json_at_event: parseNumber,
  error_at_event: parseNumber,
  no_usage: parseFlag,
  no_terminal: parseFlag,
  endless: parseFlag,
  /** One line of so many bytes, before anything else. */
  long_line: parseNumber,
  model_echo: parseText,
  error_in_200: parseFlag,
  error_event_first: parseFlag,
  overloaded: parseFlag,
  context_overflow: parseFlag,
  content_filter: parseFlag,
  /** Milliseconds before each event, or before a JSON answer. */
  slow: parseNumber,
  /** Milliseconds at most before an answer begins; how many depends on the seed and the call. */
  jitter: parseNumber,
  /** Milliseconds before the first answer of the simulator begins. */
  slow_start: parseNumber,
  /** All events of a stream are one piece of its body. */
  one_piece: parseFlag,
  /** Fields laid over the usage that is reported. */
  usage: objectReader(anything),
  /** The document ends in its middle. */
  bad_json: parseFlag,
  /** No `content-length`. */
  chunked: parseFlag,
  image: objectReader(IMAGE) as Reader<ImageFault>,
  job: objectReader(JOB) as Reader<JobFault>,
  /** Where a file is said to be instead: at its own address, or under another host name. */
  redirect: (argument: string) =>
    argument === "self" || argument === "other" ? argument : undefined,
  envelope: objectReader(ENVELOPE) as Reader<EnvelopeFault>,
  /** The question that is not answered; empty: the first. */
  missing_answer: (argument: string) => argument,
  extra_answer: parseFlag,
  /** Answers laid over the true ones. */
  answers: objectReader(anything),
};

type Readers = typeof READERS;

/** The faults of one answer. All empty if nothing does. */
export type Faults = {
  readonly [Name in keyof Readers]?: Exclude<ReturnType<Readers[Name]>, undefined>;
} & { readonly cheat?: Cheat };

export type FaultReading =
  | { readonly kind: "faults"; readonly faults: Faults }
  | { readonly kind: "unknown"; readonly message: string };

/** Reads `name`, `name:argument`, or several of them joined by `;`; `cheat:NAME` is one of `cheats`. */
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

/* Clauses end at a semicolon; one inside the JSON of an argument is part of it. */
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

/** An amount that is given as a number is kept as its text: it is only ever written again. */
function objectReader(rule: Rule): Reader<JsonObject> {
  return (argument) => {
    try {
      const value: unknown = JSON.parse(argument);
      if (!isObject(value) || rule(value, "") !== undefined) return undefined;
      const { cost } = value;
      return { ...value, ...(typeof cost === "number" && { cost: String(cost) }) };
    } catch {
      return undefined;
    }
  };
}
