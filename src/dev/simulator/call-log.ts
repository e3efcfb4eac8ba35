import { createHash } from "node:crypto";
import type { RequestHeaders } from "./sim-error.ts";

const CALLS_KEPT = 100;
const SECRET_CHARS_SHOWN = 8;
const SECRET_HEADERS = new Set(["authorization", "api-key", "x-api-key"]);

/** Counts since the start or the last reset. A reset keeps `open`, the calls in progress. */
export interface CallCounts {
  /** Generation calls: chats, images, decisions, created video jobs. */
  readonly total: number;
  readonly paths: Readonly<Record<string, number>>;
  readonly open: number;
  /** Calls whose client disconnected before the answer was complete. */
  readonly abandoned: number;
}

export interface CallRecord {
  /** Number among the generation calls, from 1; 0 for a call about a video job. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Request headers; those with a key are cut short, so as not to reveal it. */
  readonly headers: RequestHeaders;
  bodyText: string;
  /** The parsed body. Null until the body has arrived; undefined if it is not JSON. */
  body: unknown;
  fault: string | null;
  outcome: "open" | "answered" | "broken" | "abandoned";
}

type ArrivedCall = Pick<CallRecord, "method" | "path" | "query" | "headers"> & {
  readonly isGeneration: boolean;
};

export class CallLog {
  #records: CallRecord[] = [];
  #paths = new Map<string, number>();
  #total = 0;
  #open = 0;
  #abandoned = 0;

  begin({ isGeneration, ...call }: ArrivedCall): CallRecord {
    if (isGeneration) this.#total += 1;
    this.#open += 1;
    this.#paths.set(call.path, (this.#paths.get(call.path) ?? 0) + 1);
    const record: CallRecord = {
      number: isGeneration ? this.#total : 0,
      ...call,
      headers: withoutSecrets(call.headers),
      bodyText: "",
      body: null,
      fault: null,
      outcome: "open",
    };
    this.#records.push(record);
    if (this.#records.length > CALLS_KEPT) this.#records.shift();
    return record;
  }

  end(record: CallRecord, outcome: "answered" | "broken" | "abandoned"): void {
    record.outcome = outcome;
    this.#open -= 1;
    if (outcome === "abandoned") this.#abandoned += 1;
  }

  counts(): CallCounts {
    return {
      total: this.#total,
      paths: Object.fromEntries(this.#paths),
      open: this.#open,
      abandoned: this.#abandoned,
    };
  }

  last(): readonly CallRecord[] {
    return this.#records;
  }

  reset(): void {
    this.#records = [];
    this.#paths = new Map();
    this.#total = 0;
    this.#abandoned = 0;
  }
}

function withoutSecrets(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      SECRET_HEADERS.has(name) ? [name, shortened(String(value))] : [name, value],
    ),
  );
}

function shortened(value: string): string {
  const space = value.indexOf(" ") + 1;
  return `${value.slice(0, space + SECRET_CHARS_SHOWN)}…`;
}

/** The unique part of the ids in the answer to call `number`. Equal seeds give equal ids. */
export function makeSerial(seed: string, number: number): string {
  return createHash("sha256").update(`${seed}:${number}`).digest("hex").slice(0, 24);
}
