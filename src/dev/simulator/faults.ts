import { CHEAT_NAMES, isCheatName, type Cheating } from "./cheats.ts";
import { isObject, stringsOf, type JsonObject } from "./json.ts";
import {
  readEnvelopeFault,
  readImageFault,
  readJobFault,
  type EnvelopeFault,
  type ImageFault,
  type JobFault,
} from "./object-faults.ts";

export interface FaultPoint {
  readonly at: "accept" | "headers" | "body" | "event";
  readonly count: number;
}

/** What goes wrong with one answer. All empty: nothing does. */
export interface Faults extends Cheating {
  /** The connection dies before a byte of an answer. */
  readonly refuse?: true;
  /** The connection is reset in the headers, after `count` bytes, or after `count` events. */
  readonly reset?: FaultPoint;
  /** Nothing more comes from there on, and the connection stays open. */
  readonly hang?: FaultPoint;
  /** The body comes at so many bytes a second. */
  readonly drip?: number;
  readonly status?: number;
  readonly body?: "json" | "html";
  readonly message?: string;
  readonly code?: string;
  readonly retry_after?: string;
  /** Added to the true `content-length`. */
  readonly wrong_length?: number;
  readonly content_type?: string;
  readonly gzip_bomb?: true;
  readonly bad_utf8?: true;
  readonly bad_json_at_event?: number;
  readonly error_at_event?: number;
  readonly no_usage?: true;
  readonly no_terminal?: true;
  readonly endless?: true;
  /** One line of so many bytes, before anything else. */
  readonly long_line?: number;
  readonly model_echo?: string;
  readonly error_in_200?: true;
  readonly error_event_first?: true;
  readonly overloaded?: true;
  readonly context_overflow?: true;
  readonly content_filter?: true;
  readonly refusal?: true;
  /** Milliseconds before each event, or before a JSON answer. */
  readonly slow?: number;
  /** Milliseconds at most before an answer begins; how many depends on the seed and the call. */
  readonly jitter?: number;
  /** Milliseconds before the first answer of the simulator begins. */
  readonly slow_start?: number;
  /** From here on nothing is sent until the simulator receives a release request. */
  readonly hold?: FaultPoint;
  /** All events of a stream are one piece of its body. */
  readonly one_piece?: true;
  /** Fields laid over the usage that is reported. */
  readonly usage?: JsonObject;
  /** The document ends in its middle. */
  readonly bad_json?: true;
  /** No `content-length`. */
  readonly chunked?: true;
  readonly image?: ImageFault;
  readonly job?: JobFault;
  /** Where a file is said to be instead: `self`, `file`, `other`, `private` or an address. */
  readonly redirect?: string;
  readonly envelope?: EnvelopeFault;
  /** The question that is not answered; empty: the first. */
  readonly missing_answer?: string;
  readonly extra_answer?: true;
  /** Answers laid over the true ones. */
  readonly answers?: JsonObject;
}

/** `before`: what the fault has from an earlier clause of the same script. */
type Reader = (argument: string, before: unknown) => unknown;

const flag: Reader = (argument) => (argument === "" ? true : undefined);
const text: Reader = (argument) => (argument === "" ? undefined : argument);
const bound: Reader = (argument) => (/^\d{1,9}$/.test(argument) ? Number(argument) : undefined);
const whole: Reader = (argument) => (/^-?\d{1,10}$/.test(argument) ? Number(argument) : undefined);

const readHold = readPoint(/^(accept)$|^(event):(\d{1,9})$/);

const READERS: Readonly<Record<keyof Faults, Reader>> = {
  refuse: flag,
  reset: readPoint(/^(headers)$|^(body|event):(\d{1,9})$/),
  hang: readPoint(/^(accept|headers|body)$|^(event):(\d{1,9})$/),
  drip: whole,
  status: (argument) => (/^[2-5]\d\d$/.test(argument) ? Number(argument) : undefined),
  body: (argument) => (/^(json|html)$/.test(argument) ? argument : undefined),
  message: text,
  code: text,
  retry_after: text,
  wrong_length: whole,
  content_type: text,
  gzip_bomb: flag,
  bad_utf8: flag,
  bad_json_at_event: whole,
  error_at_event: whole,
  no_usage: flag,
  no_terminal: flag,
  endless: flag,
  long_line: whole,
  model_echo: text,
  error_in_200: flag,
  error_event_first: flag,
  overloaded: flag,
  context_overflow: flag,
  content_filter: flag,
  refusal: flag,
  slow: whole,
  jitter: bound,
  slow_start: bound,
  hold: (argument) =>
    argument === "" ? { at: "accept", count: 0 } : readHold(argument, undefined),
  one_piece: flag,
  usage: readObject,
  bad_json: flag,
  chunked: flag,
  image: (argument) => readImageFault(readObject(argument)),
  job: (argument) => readJobFault(readObject(argument), isScript),
  redirect: (argument) =>
    /^(self|file|other|private|https?:\/\/\S+)$/.test(argument) ? argument : undefined,
  envelope: (argument) => readEnvelopeFault(readObject(argument)),
  missing_answer: (argument) => argument,
  extra_answer: flag,
  answers: readObject,
  cheat: readCheat,
};

export type FaultReading =
  | { readonly kind: "faults"; readonly faults: Faults }
  | { readonly kind: "unknown"; readonly message: string };

/** Names of all faults, for help texts. */
export const FAULT_NAMES: readonly string[] = Object.keys(READERS);

/** Reads `name`, `name:argument`, or several of them joined by `;`. */
export function readFaults(script: string): FaultReading {
  const faults: Record<string, unknown> = {};
  for (const clause of clausesOf(script)) {
    const colon = clause.indexOf(":");
    const name = colon < 0 ? clause : clause.slice(0, colon);
    const read = isFaultName(name) ? READERS[name] : undefined;
    const value = read?.(colon < 0 ? "" : clause.slice(colon + 1), faults[name]);
    if (value === undefined) return unknownFault(clause);
    faults[name] = value;
  }
  return { kind: "faults", faults };
}

/* Clauses end at a semicolon; one inside the JSON of an argument is part of it. */
function clausesOf(script: string): readonly string[] {
  const clauses = script.match(/\s*\w+:\{(?:"(?:[^"\\]|\\.)*"|[^";])*[^;]*|[^;]+/g) ?? [];
  return clauses.map((clause) => clause.trim()).filter((clause) => clause !== "");
}

function isScript(script: string): boolean {
  return readFaults(script).kind === "faults";
}

function isFaultName(name: string): name is keyof Faults {
  return Object.hasOwn(READERS, name);
}

function unknownFault(clause: string): FaultReading {
  const known = clause.startsWith("cheat") ? `; cheats: ${CHEAT_NAMES.join(", ")}` : "";
  const message = `no fault is written ${JSON.stringify(clause)}; known: ${FAULT_NAMES.join(", ")}`;
  return { kind: "unknown", message: message + known };
}

function readCheat(argument: string, before: unknown): readonly string[] | undefined {
  return isCheatName(argument) ? [...stringsOf(before), argument] : undefined;
}

function readPoint(form: RegExp): Reader {
  return (argument) => {
    const match = form.exec(argument);
    if (match === null) return undefined;
    const [, plain, counted, count] = match;
    return { at: plain ?? counted, count: Number(count ?? 0) };
  };
}

function readObject(argument: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(argument);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
