import { type Clock, USAGE_FILE_TIMEOUT_MS } from "../../kernel/index.ts";
import type { ConcurrencyGate } from "./concurrency-gate.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

/** A file that is made while it is sent. */
export class FileAnswer {
  readonly contentType: string;
  readonly fileName: string;
  readonly pieces: AsyncIterable<string>;
  /** Further headers, known when the first piece is. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the client is gone, or has the whole file. */
  readonly onClosed: () => void;

  constructor(of: {
    readonly contentType: string;
    readonly fileName: string;
    readonly pieces: AsyncIterable<string>;
    readonly headers: Readonly<Record<string, string>>;
    readonly onClosed: () => void;
  }) {
    this.contentType = of.contentType;
    this.fileName = of.fileName;
    this.pieces = of.pieces;
    this.headers = of.headers;
    this.onClosed = of.onClosed;
  }
}

export interface WantedFile {
  readonly orgId: string;
  readonly contentType: string;
  readonly fileName: string;
  readonly pieces: AsyncIterable<string>;
  /** Asked when the first piece was made. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

/**
 * Begins a file within the organization's turns. Its first piece is made before the first byte is
 * sent, so that a fault until then is an ordinary answer; one that takes too long ends in a reset.
 */
export async function openFile(
  { gates, clock }: { readonly gates: ConcurrencyGate; readonly clock: Clock },
  wanted: WantedFile,
): Promise<FileAnswer | ConsoleRefusal> {
  const end = await gates.take(wanted.orgId);
  if (end instanceof ConsoleRefusal) return end;
  const iterator = wanted.pieces[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    const { contentType, fileName } = wanted;
    const endMs = clock.monotonicMs() + USAGE_FILE_TIMEOUT_MS;
    const isLate = (): boolean => clock.monotonicMs() > endMs;
    const pieces = restOf({ first, iterator, isLate, end });
    const headers = wanted.headers?.() ?? {};
    return new FileAnswer({ contentType, fileName, pieces, headers, onClosed: end });
  } catch (fault) {
    end();
    throw fault;
  }
}

async function* restOf(of: {
  readonly first: IteratorResult<string>;
  readonly iterator: AsyncIterator<string>;
  readonly isLate: () => boolean;
  readonly end: () => void;
}): AsyncIterable<string> {
  try {
    for (let step = of.first; step.done !== true; step = await of.iterator.next()) {
      if (of.isLate()) throw new Error("a file download took too long and was aborted");
      yield step.value;
    }
  } finally {
    // Before the last byte: a client that has read the whole file may ask for the next.
    of.end();
  }
}
