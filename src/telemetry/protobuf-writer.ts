const START_BYTES = 64 * 1024;

/** The wire types of protobuf that are written here. */
const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;

/** Writes messages of protobuf into one growing buffer, which is used again for the next ones. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #end = 0;

  /** A copy of what was written; the writer is empty then. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
    return taken;
  }

  /** A message inside of this one begins; `end` gets what this returns. */
  begin(field: number): number {
    this.#tag(field, DELIMITED);
    this.#ensure(1);
    this.#end += 1;
    return this.#end;
  }

  end(start: number): void {
    const length = this.#end - start;
    const more = varintBytes(length) - 1;
    if (more > 0) {
      this.#ensure(more);
      this.#bytes.copyWithin(start + more, start, this.#end);
    }
    this.#end = start - 1;
    this.#varint(length);
    this.#end += length;
  }

  text(field: number, text: string): void {
    this.#tag(field, DELIMITED);
    this.#ensure(text.length + LENGTH_BYTES_MAX);
    const start = this.#end;
    this.#varint(text.length);
    if (this.#ascii(text)) return;
    this.#end = start;
    const bytes = Buffer.from(text);
    this.#varint(bytes.length);
    this.#append(bytes);
  }

  /** All fields of another writer, which is empty then. */
  append(other: ProtobufWriter): void {
    this.#append(other.#bytes.subarray(0, other.#end));
    other.#end = 0;
  }

  /** Bytes, given by the small hexadecimal digits of them. */
  hex(field: number, digits: string): void {
    const length = digits.length >> 1;
    this.#tag(field, DELIMITED);
    this.#ensure(length + LENGTH_BYTES_MAX);
    this.#varint(length);
    const bytes = this.#bytes;
    let end = this.#end;
    for (let at = 0; at + 1 < digits.length; at += 2) {
      bytes[end] = (valueOf(digits.charCodeAt(at)) << 4) | valueOf(digits.charCodeAt(at + 1));
      end += 1;
    }
    this.#end = end;
  }

  /** An integer from 0 on. */
  integer(field: number, value: number): void {
    this.#tag(field, VARINT);
    this.#ensure(INTEGER_BYTES_MAX);
    this.#varint(value);
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED_64);
    this.#ensure(8);
    this.#end = this.#bytes.writeDoubleLE(value, this.#end);
  }

  fixed32(field: number, value: number): void {
    this.#tag(field, FIXED_32);
    this.#ensure(4);
    this.#end = this.#bytes.writeUInt32LE(value, this.#end);
  }

  /** Milliseconds with a fraction, as whole nanoseconds of 64 bits: more than a number can hold. */
  nanoseconds(field: number, ms: number): void {
    const wholeMs = Math.floor(ms);
    const below = Math.round((ms - wholeMs) * NS_PER_MS);
    const upper = Math.floor(wholeMs / HALF_WORD) * NS_PER_MS;
    const low = (upper % HALF_WORD) * HALF_WORD + (wholeMs % HALF_WORD) * NS_PER_MS + below;
    const high = Math.floor(upper / HALF_WORD) + Math.floor(low / WORD);
    this.#tag(field, FIXED_64);
    this.#ensure(8);
    this.#end = this.#bytes.writeUInt32LE(low % WORD, this.#end);
    this.#end = this.#bytes.writeUInt32LE(high, this.#end);
  }

  #tag(field: number, type: number): void {
    this.#ensure(2);
    this.#varint(field * 8 + type);
  }

  /** There is space for it. */
  #varint(value: number): void {
    const bytes = this.#bytes;
    let left = value;
    while (left > 0x7f) {
      bytes[this.#end] = (left % 0x80) | 0x80;
      this.#end += 1;
      left = Math.floor(left / 0x80);
    }
    bytes[this.#end] = left;
    this.#end += 1;
  }

  /** There is space for it. False: it has other characters, and its end is not moved. */
  #ascii(text: string): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) return false;
      bytes[end + at] = code;
    }
    this.#end = end + text.length;
    return true;
  }

  #append(bytes: Buffer): void {
    this.#ensure(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #ensure(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + bytes));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

const LENGTH_BYTES_MAX = 5;
const INTEGER_BYTES_MAX = 10;
const NS_PER_MS = 1_000_000;
const HALF_WORD = 0x10000;
const WORD = 0x1_0000_0000;

function varintBytes(value: number): number {
  let bytes = 1;
  for (let left = value; left > 0x7f; left = Math.floor(left / 0x80)) bytes += 1;
  return bytes;
}

/** The digits have the low bits 0 to 9, the letters 1 to 6; only letters have bit 6. */
function valueOf(digit: number): number {
  return (digit & 0x0f) + (digit >> 6) * 9;
}
