import { type Clock, USAGE_FILE_TIMEOUT_MS, instant } from "../../kernel/index.ts";
import type { ConcurrencyGate } from "./concurrency-gate.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { DAY_MS, isoDay, type ReportFilter } from "../../gateway/index.ts";
import type { UsageFilters } from "./contract.ts";
import type { Paper } from "../billing/paper.ts";
import { printPaper } from "../billing/print-paper.ts";

/** A file that is produced while it is sent; the contract names its content type. */
export interface FileAnswer {
  readonly fileName: string;
  readonly pieces: AsyncIterable<string | Buffer>;
  /** Further headers; called after the first piece was produced. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

/** A file whose first piece exists. It holds a turn of the organization until it is closed. */
export interface OpenedFile extends Omit<FileAnswer, "headers"> {
  readonly headers: Readonly<Record<string, string>>;
  /** Must be called when the client has left or has the whole file. */
  readonly onClosed: () => void;
}

/**
 * Starts a file within the organization's concurrency limit. The first piece is made before the
 * first byte is sent, so that its fault gets an ordinary answer. A file that is sent too slowly
 * ends with a reset connection.
 */
export async function openFile(
  { gate, clock }: { readonly gate: ConcurrencyGate; readonly clock: Clock },
  orgId: string,
  { fileName, pieces, headers }: FileAnswer,
): Promise<OpenedFile | ConsoleRefusal> {
  const end = await gate.take(orgId);
  if (end instanceof ConsoleRefusal) return end;
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    const endMs = clock.monotonicMs() + USAGE_FILE_TIMEOUT_MS;
    const isLate = (): boolean => clock.monotonicMs() > endMs;
    const rest = streamRest(first, iterator, isLate, end);
    return { fileName, pieces: rest, headers: headers?.() ?? {}, onClosed: end };
  } catch (fault) {
    end();
    throw fault;
  }
}

/**
 * Writes a line for each row. Each page of rows is a piece, even if it is empty: the first has the
 * `head`, and any write finds out whether the client has left.
 */
export async function* writeLines<T>(
  head: string,
  pages: AsyncIterable<readonly T[]>,
  line: (row: T) => string,
): AsyncIterable<string> {
  let start = head;
  for await (const rows of pages) {
    yield start + rows.map((row) => line(row)).join("");
    start = "";
  }
}

export function paperFile(paper: Paper): FileAnswer {
  return { fileName: `${toFileWord(paper.title).toLowerCase()}.pdf`, pieces: printed(paper) };
}

async function* printed(paper: Paper): AsyncIterable<Buffer> {
  yield await printPaper(paper);
}

async function* streamRest(
  first: IteratorResult<string | Buffer>,
  iterator: AsyncIterator<string | Buffer>,
  isLate: () => boolean,
  end: () => void,
): AsyncIterable<string | Buffer> {
  try {
    for (let step = first; step.done !== true; step = await iterator.next()) {
      if (isLate()) throw new Error("a file download took too long and was aborted");
      yield step.value;
    }
  } finally {
    // Ends the turn before the response ends: its client may then request another file.
    end();
  }
}

const FILTER_CHARS_MAX = 40;

/**
 * Names a file of requests after its time range and filters, so that files of different views do
 * not overwrite each other.
 */
export function buildFileName(
  { fromMs, toMs }: Pick<ReportFilter, "fromMs" | "toMs">,
  { model, provider, key, tag, status }: UsageFilters,
): string {
  const filters = [model, provider, key, tag, status].flatMap((text) => text ?? []);
  return ["requests", spanName(fromMs, toMs), ...filters.map(toFileWord)].join("-").concat(".csv");
}

function spanName(fromMs: number, toMs: number): string {
  const isWhole = fromMs % DAY_MS === 0 && toMs % DAY_MS === 0;
  if (!isWhole) return `${minuteName(fromMs)}-to-${minuteName(toMs)}`;
  const [from, to] = [isoDay(fromMs), isoDay(toMs - 1)];
  return from === to ? from : `${from}-to-${to}`;
}

/** Returns `2026-11-24T1030`, without the colon that some file systems reject. */
function minuteName(ms: number): string {
  return instant(ms).slice(0, "2026-01-01T00:00".length).replace(":", "");
}

function toFileWord(text: string): string {
  const word = text.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, FILTER_CHARS_MAX);
  return word.replaceAll(/^-|-$/g, "");
}
