import { isUtf8 } from "node:buffer";

import { type Span, SSE_EVENT_BYTES_MAX, SSE_LINE_BYTES_MAX } from "../../../kernel/index.ts";

/** One event of a stream. `data` may be a view of the bytes that were read. */
export interface SseEvent {
  /** The `event` field, trimmed; empty if there is none. */
  readonly name: string;
  readonly data: Buffer;
}

/** Why a reader stopped. The reader ignores all bytes after a fault. */
export type SseFault = "line_too_long" | "event_too_long";

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const NO_BYTES = Buffer.alloc(0);
const DATA = Buffer.from("data");
const EVENT = Buffer.from("event");

/**
 * Reads an event stream whose bytes are split anywhere. Accepts LF, CRLF or lone CR, a byte order
 * mark, several data lines, comments, and a last event without its blank line. Data of one line
 * within one chunk is a view, not a copy.
 */
export class SseReader {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #carry = new GrowingBuffer();
  readonly #joined = new GrowingBuffer();
  #atStart = true;
  #skipLf = false;
  #name = "";
  #data: Buffer | undefined;
  #fault: SseFault | undefined;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** After a fault, every call returns that fault. */
  push(bytes: Buffer): SseFault | undefined {
    let at = this.#skipLf && bytes[0] === LF ? 1 : 0;
    if (bytes.length > 0) this.#skipLf = false;
    let cr = bytes.indexOf(CR, at);
    let lf = bytes.indexOf(LF, at);
    while (at < bytes.length && this.#fault === undefined) {
      if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at);
      if (lf !== -1 && lf < at) lf = bytes.indexOf(LF, at);
      const endsInCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = endsInCr ? cr : lf;
      if (end === -1) {
        this.#keep(bytes.subarray(at));
        break;
      }
      if (this.#carry.length === 0) this.#line(bytes, at, end);
      else this.#carriedLine(bytes.subarray(at, end));
      at = end + 1;
      if (!endsInCr) continue;
      if (at === bytes.length) this.#skipLf = true;
      else if (bytes[at] === LF) at += 1;
    }
    return this.#fault;
  }

  /** Ends the body. An unfinished last line and an event without a blank line are still read. */
  end(): SseFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#carry.length > 0) this.#carriedLine(NO_BYTES);
    if (this.#fault === undefined) this.#dispatch();
    return this.#fault;
  }

  #keep(piece: Buffer): void {
    if (this.#carry.length + piece.length > SSE_LINE_BYTES_MAX) this.#fault = "line_too_long";
    else this.#carry.add(piece);
  }

  #carriedLine(rest: Buffer): void {
    this.#carry.add(rest);
    const whole = this.#carry.take();
    this.#line(whole, 0, whole.length);
  }

  /** Takes offsets, because a view of each line would cost more than reading the line. */
  #line(bytes: Buffer, from: number, end: number): void {
    const start = this.#atStart ? behindByteOrderMark(bytes, from, end) : from;
    this.#atStart = false;
    if (end - start > SSE_LINE_BYTES_MAX) this.#fault = "line_too_long";
    else if (start === end) this.#dispatch();
    else if (hasField(bytes, start, end, DATA)) this.#addData(valueAfter(bytes, start + 4, end));
    else if (hasField(bytes, start, end, EVENT)) {
      this.#name = valueAfter(bytes, start + 5, end)
        .toString("utf8")
        .trim();
    }
    // Comments, `id`, `retry` and unknown fields are ignored.
  }

  #addData(value: Buffer): void {
    if (this.#data === undefined) {
      this.#data = value;
      return;
    }
    if (this.#joined.length === 0) this.#joined.add(this.#data);
    this.#joined.addByte(LF);
    this.#joined.add(value);
    if (this.#joined.length > SSE_EVENT_BYTES_MAX) this.#fault = "event_too_long";
  }

  #dispatch(): void {
    const data = this.#joined.length > 0 ? this.#joined.take() : this.#data;
    const name = this.#name;
    this.#data = undefined;
    this.#name = "";
    if (data !== undefined && data.length > 0) this.#onEvent({ name, data });
  }
}

function behindByteOrderMark(bytes: Buffer, start: number, end: number): number {
  const hasMark = bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
  return hasMark && start + 3 <= end ? start + 3 : start;
}

function hasField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const after = start + name.length;
  if (after > end || (after < end && bytes[after] !== COLON)) return false;
  for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false;
  return true;
}

function valueAfter(bytes: Buffer, colonAt: number, end: number): Buffer {
  const start = bytes[colonAt + 1] === SPACE ? colonAt + 2 : colonAt + 1;
  return start >= end ? NO_BYTES : bytes.subarray(start, end);
}

/** Data with line breaks becomes several `data` lines. */
export function sseEventText(name: string, data: string): string {
  return name === "" ? sseDataText(data) : `event: ${name}\n${sseDataText(data)}`;
}

export function sseDataText(data: string): string {
  if (!data.includes("\n") && !data.includes("\r")) return `data: ${data}\n\n`;
  return `data: ${data.split(/\r\n|\r|\n/).join("\ndata: ")}\n\n`;
}

/** A comment keeps a silent connection open; readers ignore it. */
export function sseCommentText(comment: string): string {
  return `: ${comment.replaceAll(/[\r\n]/g, " ")}\n\n`;
}

export const SSE_DONE_TEXT = "data: [DONE]\n\n";

export const SSE_CONTENT_TYPE = "text/event-stream; charset=utf-8";

const FIRST_BYTES = 256;

/** Collects bytes in one block whose size doubles, so many small additions take linear time. */
export class GrowingBuffer {
  length = 0;
  #block: Buffer = NO_BYTES;

  add(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length > this.#block.length) this.#grow(length);
    bytes.copy(this.#block, this.length);
    this.length = length;
  }

  addByte(byte: number): void {
    if (this.length === this.#block.length) this.#grow(this.length + 1);
    this.#block[this.length++] = byte;
  }

  /** The caller owns the returned block. */
  take(): Buffer {
    const bytes = this.#block.subarray(0, this.length);
    this.#block = NO_BYTES;
    this.length = 0;
    return bytes;
  }

  #grow(bytes: number): void {
    const block = Buffer.allocUnsafe(Math.max(FIRST_BYTES, bytes, this.#block.length * 2));
    this.#block.copy(block, 0, 0, this.length);
    this.#block = block;
  }
}

export class OutputPieces {
  #text = "";

  get length(): number {
    return this.#text.length;
  }

  add(text: string): void {
    this.#text += text;
  }

  take(): string | undefined {
    if (this.#text === "") return undefined;
    const text = this.#text;
    this.#text = "";
    return text;
  }
}

export function readEventText(data: Buffer): string | undefined {
  return isUtf8(data) ? data.toString("utf8") : undefined;
}

/** The parts of an event before and after its text. The quotes around the text belong to them. */
export interface TextFrame {
  readonly before: string;
  readonly after: string;
}

/**
 * No more events are learned after this many in a row without a match: such a stream varies in more
 * than its text.
 */
const UNUSED_FRAMES_MAX = 4;
/** Matches the inside of a JSON string that is not empty and has no escapes. */
const PLAIN_TEXT = /^[ !#-[\]-\uffff]+$/;
const LINE_BREAK = /[\r\n]/;

/**
 * Most events of a stream differ only in their text. Such events are not parsed: what was checked
 * for the learned event holds for them too.
 */
export class RepeatedEvent {
  #frame: TextFrame | undefined;
  #unused = 0;

  /** The text, never empty, of an event that otherwise equals the learned one; else undefined. */
  textIn(event: string | undefined): string | undefined {
    if (event === undefined || this.#frame === undefined) return undefined;
    const { before, after } = this.#frame;
    if (!event.startsWith(before) || !event.endsWith(after)) return undefined;
    // The text is empty if `before` and `after` overlap; `PLAIN_TEXT` then does not match.
    const text = event.slice(before.length, event.length - after.length);
    if (!PLAIN_TEXT.test(text)) return undefined;
    this.#unused = 0;
    return text;
  }

  get isLearning(): boolean {
    return this.#unused < UNUSED_FRAMES_MAX;
  }

  learn(frame: TextFrame | undefined): void {
    if (frame === undefined) return;
    this.#frame = frame;
    this.#unused += 1;
  }
}

export function frameAt(event: string, span: Span | undefined): TextFrame | undefined {
  if (span === undefined || LINE_BREAK.test(event)) return undefined;
  return { before: event.slice(0, span.start + 1), after: event.slice(span.end - 1) };
}
