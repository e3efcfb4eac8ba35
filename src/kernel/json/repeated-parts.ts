import { KEY_FLAG, type KnownPart, NODE_SIZE } from "./json-document.ts";
import type { RuleWords } from "./json-keys.ts";

/** Smaller parts are not remembered: scanning one takes no longer than looking it up. */
const PART_BYTES_MIN = 4_096;
/** The most bytes that all remembered parts and their tapes may take. */
const KEPT_BYTES_MAX = 16_777_216;
const PARTS_MAX = 32;
const SEEN_SLOTS = 256;
const SAMPLES = 16;

export interface RepeatedPart extends KnownPart {
  readonly bytes: Buffer;
  /** Includes keys that are too deep for the tape. */
  readonly keys: number;
  /** The rules under which the part was scanned; it is valid only for these. */
  readonly rules: RuleWords;
}

/**
 * Remembers parts of bodies that recur byte for byte, such as the tools that every request of a
 * conversation repeats. Comparing a part costs a fiftieth of scanning it. A part is remembered at
 * its second occurrence; the bytes of all parts are bounded.
 */
export class RepeatedParts {
  /** The most recently used part is first; the last one is dropped to make room. */
  readonly #parts: RepeatedPart[] = [];
  readonly #seen = new Int32Array(SEEN_SLOTS);
  #keptBytes = 0;

  find(body: Buffer, start: number, rules: RuleWords): RepeatedPart | undefined {
    const at = this.#parts.findIndex((part) => part.rules === rules && isAt(part, body, start));
    const found = this.#parts[at];
    if (found !== undefined && at > 0) {
      this.#parts.splice(at, 1);
      this.#parts.unshift(found);
    }
    return found;
  }

  /** Records a part that was just scanned. `tape` is called only at a second occurrence. */
  note(
    body: Buffer,
    { start, end }: { readonly start: number; readonly end: number },
    read: Pick<RepeatedPart, "keys" | "rules"> & { readonly tape: () => Int32Array },
  ): void {
    if (end - start < PART_BYTES_MIN) return;
    const print = fingerprint(body, start, end);
    const slot = print & (SEEN_SLOTS - 1);
    if (this.#seen[slot] !== print) {
      this.#seen[slot] = print;
      return;
    }
    const bytes = Buffer.from(body.subarray(start, end));
    const tape = relative(read.tape(), start);
    const part = { ...read, bytes, tape, passed: new Set<object>() };
    if (sizeOf(part) > KEPT_BYTES_MAX) return;
    this.#parts.unshift(part);
    this.#keptBytes += sizeOf(part);
    while (this.#keptBytes > KEPT_BYTES_MAX || this.#parts.length > PARTS_MAX) {
      const dropped = this.#parts.pop();
      if (dropped !== undefined) this.#keptBytes -= sizeOf(dropped);
    }
  }
}

function relative(tape: Int32Array, start: number): Int32Array {
  // Node 0 of the part is the value itself. Its entry 3 is the index of the next sibling, just
  // after the part, so the part began at this index minus the part's length.
  const node = (tape[3] ?? 0) - tape.length;
  for (let at = 0; at < tape.length; at += NODE_SIZE) {
    tape[at + 1] = (tape[at + 1] ?? 0) - start;
    tape[at + 2] = (tape[at + 2] ?? 0) - start;
    // The fourth entry of a key is its word id, not an index, so it stays as it is.
    if (((tape[at] ?? 0) & KEY_FLAG) === 0) tape[at + 3] = (tape[at + 3] ?? 0) - node;
  }
  return tape;
}

function isAt({ bytes }: RepeatedPart, body: Buffer, start: number): boolean {
  const end = start + bytes.length;
  if (end > body.length || body[end - 1] !== bytes[bytes.length - 1]) return false;
  return bytes.compare(body, start, end) === 0;
}

function fingerprint(body: Buffer, start: number, end: number): number {
  let print = end - start;
  const step = Math.floor((end - start) / SAMPLES);
  for (let at = start; at < end; at += step) print = (Math.imul(print, 31) + (body[at] ?? 0)) | 0;
  return print;
}

function sizeOf({ bytes, tape }: RepeatedPart): number {
  return bytes.length + tape.byteLength;
}
