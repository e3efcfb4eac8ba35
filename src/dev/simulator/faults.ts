import { type Static, Type } from "typebox";

import { asNumber, asObject, conforms } from "../../kernel/index.ts";
import type { Cheat, Cheats } from "./cheat.ts";
import { isObject } from "./json.ts";

export interface FaultPoint {
  readonly at: "accept" | "headers" | "body" | "event";
  readonly count: number;
}

const CLOSED = { additionalProperties: false };
const Text = Type.String();
const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const IsSet = Type.Literal(true);
/** A cost in USD, reported digit for digit. Null means that no cost is reported. */
const Cost = Type.Unsafe<string | null>(Type.Union([Type.String(), Type.Number(), Type.Null()]));

const ImageFaults = Type.Partial(
  Type.Object({
    /** Number of images in the answer, whatever number the request has. */
    count: Whole,
    /** Size in bytes to which each image is padded before it is encoded in base64. */
    bytes: Whole,
    url_only: IsSet,
    bad_base64: IsSet,
    not_an_image: IsSet,
    empty: IsSet,
    cost: Cost,
    moderation_flag: IsSet,
  }),
  CLOSED,
);
export type ImageFault = Static<typeof ImageFaults>;

const JobFaults = Type.Partial(
  Type.Object({
    /** States of the job in order: the create call returns the first, and each poll the next. */
    states: Type.Array(Text),
    final: Text,
    never: IsSet,
    /** Milliseconds that each state lasts, however often the client polls. */
    ms: Whole,
    code: Text,
    message: Text,
    moderated: IsSet,
    cost: Cost,
    bytes: Whole,
    no_content: IsSet,
    /**
     * Fault scripts for other calls about the job: `poll` for its first `poll_times` polls, `content`
     * for requests for its file.
     */
    poll: Text,
    poll_times: Whole,
    content: Text,
  }),
  CLOSED,
);
export type JobFault = Static<typeof JobFaults>;

const EnvelopeFaults = Type.Partial(
  Type.Object({
    success: Type.Boolean(),
    code: Type.Number({ minimum: 0, maximum: 100_000 }),
    message: Text,
    nested: IsSet,
    bare: IsSet,
    empty: IsSet,
  }),
  CLOSED,
);
export type EnvelopeFault = Static<typeof EnvelopeFaults>;

type Reader<T> = (argument: string) => T | undefined;

const READERS = {
  /**
   * Resets the connection at this point: in the headers, after `count` bytes of the body, or after
   * `count` events.
   */
  reset: pointReader(/^(headers)$|^(body|event):(\d{1,9})$/),
  /** Sends nothing from this point on, but keeps the connection open. */
  hang: pointReader(/^(accept|headers)$|^(event):(\d{1,9})$/),
  /** Sends nothing from this point on, until `release` is called. */
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
  /** Milliseconds by which the answer to the first generation call is delayed. */
  slow_start: parseNumber,
  one_piece: parseFlag,
  /** Fields that replace those of the reported usage. */
  usage: objectReader(isObject),
  /** Cuts the JSON document in half. */
  bad_json: parseFlag,
  /** Sends the document without `content-length`. */
  chunked: parseFlag,
  image: objectReader(conforms(ImageFaults)),
  job: (argument: string): JobFault | undefined => {
    const job = objectReader(conforms(JobFaults))(argument);
    const scripts = [job?.poll ?? "", job?.content ?? ""];
    return scripts.every((each) => readFaults(each).kind === "faults") ? job : undefined;
  },
  /** Redirects a request for a file to the same URL (`self`) or another host name (`other`). */
  redirect: (argument: string) =>
    argument === "self" || argument === "other" ? argument : undefined,
  envelope: objectReader(conforms(EnvelopeFaults)),
  /** Name of the question that gets no answer. If empty, the first question gets none. */
  missing_answer: (argument: string) => argument,
  extra_answer: parseFlag,
  /** Answers that replace those of the provider, by question name. */
  answers: objectReader(isObject),
};

type Readers = typeof READERS;

export type Faults = {
  readonly [Name in keyof Readers]?: Exclude<ReturnType<Readers[Name]>, undefined>;
} & { readonly cheat?: Cheat };

export type FaultReading =
  | { readonly kind: "faults"; readonly faults: Faults }
  | { readonly kind: "unknown"; readonly message: string };

/** Reads clauses `name` or `name:argument`, separated by `;`. `cheat:NAME` is one of `cheats`. */
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
function objectReader<T extends object>(isGood: (value: unknown) => value is T): Reader<T> {
  return (argument) => {
    try {
      const value: unknown = JSON.parse(argument);
      if (!isGood(value)) return undefined;
      const cost = asNumber(asObject(value)?.["cost"]);
      return cost === undefined ? value : { ...value, cost: String(cost) };
    } catch {
      return undefined;
    }
  };
}
