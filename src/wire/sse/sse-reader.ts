import { SSE_EVENT_BYTES_MAX, SSE_LINE_BYTES_MAX } from "../../core/index.ts";
import { GrowingBuffer } from "./growing-buffer.ts";

/** One event of a server-sent stream. `data` may be a view of the bytes it was read from. */
export interface SseEvent {
  /** Value of the `event` field; empty when the event has none. */
  readonly name: string;
  readonly data: Buffer;
}

/** Why a reader gave up. It reads nothing more after a fault. */
export type SseFault = "line_too_long" | "event_too_long";

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const NO_BYTES = Buffer.alloc(0);

/**
 * Bytes to events, for any split of the bytes: LF, CRLF and lone CR, one leading byte order mark,
 * several data lines, comments, and a last event that the body's end cut short of its blank line.
 * An event that lies whole in one piece is handed on as a view, without a copy.
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

  /** Reads the next piece of the body; the fault, once there is one, is returned for good. */
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
      this.#line(this.#wholeLine(bytes, at, end));
      at = end + 1;
      if (!endsInCr) continue;
      if (at === bytes.length) this.#skipLf = true;
      else if (bytes[at] === LF) at += 1;
    }
    return this.#fault;
  }

  /** The body ended: an unfinished last line and an event without its blank line still count. */
  end(): SseFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#carry.length > 0) this.#line(this.#carry.take());
    if (this.#fault === undefined) this.#dispatch();
    return this.#fault;
  }

  #keep(piece: Buffer): void {
    if (this.#carry.length + piece.length > SSE_LINE_BYTES_MAX) this.#fault = "line_too_long";
    else this.#carry.add(piece);
  }

  #wholeLine(bytes: Buffer, start: number, end: number): Buffer {
    const piece = bytes.subarray(start, end);
    if (this.#carry.length === 0) return piece;
    this.#carry.add(piece);
    return this.#carry.take();
  }

  #line(whole: Buffer): void {
    const line = this.#atStart ? withoutByteOrderMark(whole) : whole;
    this.#atStart = false;
    if (line.length > SSE_LINE_BYTES_MAX) this.#fault = "line_too_long";
    else if (line.length === 0) this.#dispatch();
    else if (hasField(line, "data")) this.#addData(valueAfter(line, 4));
    else if (hasField(line, "event")) this.#name = valueAfter(line, 5).toString("utf8");
    // Comments, `id`, `retry` and unknown fields mean nothing to a gateway.
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

function withoutByteOrderMark(line: Buffer): Buffer {
  const marked = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf;
  return marked ? line.subarray(3) : line;
}

function hasField(line: Buffer, field: "data" | "event"): boolean {
  const after = line[field.length];
  if (after !== COLON && after !== undefined) return false;
  for (let at = 0; at < field.length; at++) {
    if (line[at] !== field.charCodeAt(at)) return false;
  }
  return true;
}

function valueAfter(line: Buffer, fieldLength: number): Buffer {
  if (line.length <= fieldLength + 1) return NO_BYTES;
  return line.subarray(line[fieldLength + 1] === SPACE ? fieldLength + 2 : fieldLength + 1);
}
