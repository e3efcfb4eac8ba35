import { HeldBytes, IMAGE_ANSWER_OTHER_BYTES_MAX, tryParse } from "../../../kernel/index.ts";

/**
 * Each string under a key `b64_json` becomes a `Base64Text`. All other bytes form a small JSON
 * text, in which an index into `texts` replaces the string: `{"data":[{"b64_json":"0"}]}`. Checking
 * that JSON and the base64 strings checks the whole answer.
 */
export class ImageAnswerParser {
  readonly texts: Base64Text[] = [];
  /** The answer with each image replaced by its index, as latin1: one character per byte. */
  #rest = "";
  #mode: "between" | "string" | "base64" = "between";
  #isEscaped = false;
  /** The first characters of the current or last string, because that string may be a key. */
  #string = "";
  /** The key, with its escapes, of the member whose value comes next; empty in other places. */
  #key = "";
  #closedFileBytes = 0;

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.isUnusable;) {
      if (this.#mode === "between") at = this.#between(bytes, at);
      else if (this.#mode === "string") at = this.#inString(bytes, at);
      else at = this.#inBase64(bytes, at);
    }
  }

  get isUnusable(): boolean {
    return (
      this.#rest.length > IMAGE_ANSWER_OTHER_BYTES_MAX ||
      this.texts.length > TEXTS_MAX ||
      this.texts.at(-1)?.isBad === true
    );
  }

  get fileBytes(): number {
    return this.#closedFileBytes + (this.#mode === "base64" ? this.#lastFileBytes() : 0);
  }

  rest(): Buffer {
    return Buffer.from(this.#rest, "latin1");
  }

  #between(bytes: Buffer, start: number): number {
    let at = start;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte === COLON) this.#key = this.#string;
      else if (!isSpace(byte)) this.#key = "";
      else continue;
      this.#string = "";
    }
    this.#keep(bytes, start, at);
    if (at === bytes.length) return at;
    if (isBase64Key(this.#key)) {
      this.#rest += `"${this.texts.length}"`;
      this.texts.push(new Base64Text());
      this.#mode = "base64";
    } else {
      this.#rest += '"';
      this.#mode = "string";
    }
    this.#string = "";
    this.#key = "";
    return at + 1;
  }

  #inString(bytes: Buffer, start: number): number {
    let at = start;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) break;
    }
    this.#keep(bytes, start, at);
    const capacity = KEY_BYTES_MAX - this.#string.length;
    if (capacity > 0)
      this.#string += bytes.toString("latin1", start, Math.min(at, start + capacity));
    if (at === bytes.length) return at;
    this.#rest += '"';
    this.#mode = "between";
    return at + 1;
  }

  #inBase64(bytes: Buffer, start: number): number {
    const at = this.texts.at(-1)?.push(bytes, start) ?? bytes.length;
    if (at === bytes.length) return at;
    this.#closedFileBytes += this.#lastFileBytes();
    this.#mode = "between";
    return at + 1;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    if (end > start) this.#rest += bytes.toString("latin1", start, end);
  }

  #lastFileBytes(): number {
    return this.texts.at(-1)?.fileBytes ?? 0;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const KEY = "b64_json";
/** Characters kept of a string: the key fully escaped and 8 more, so that longer strings differ. */
const KEY_BYTES_MAX = KEY.length * "\\u0000".length + 8;
/** Maximum images in an answer, far more than one request can ask for. */
const TEXTS_MAX = 16;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isBase64Key(written: string): boolean {
  return written === KEY || (written.includes("\\") && tryParse(`"${written}"`)?.value === KEY);
}

/**
 * Checks and counts the base64 characters of one image. Only the first are decoded, to detect the
 * file type, because the client gets the provider's characters unchanged, escapes included.
 */
export class Base64Text {
  readonly #held = new HeldBytes();
  #head = "";
  #characters = 0;
  #paddings = 0;
  #isBad = false;
  /** A JSON escape that is not complete yet, with its backslash. */
  #escape = "";

  /** Reads `bytes` from `start`. Returns the offset of the closing quote, or `bytes.length`. */
  push(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length) {
      if (this.#escape !== "") {
        this.#takeEscape(bytes[at++] as number);
        continue;
      }
      const end = alphabetEnd(bytes, at);
      if (end > at) this.#takeCharacters(bytes, at, end);
      at = end;
      const byte = bytes[at];
      if (byte === undefined || byte === QUOTE) break;
      if (byte === BACKSLASH) this.#escape = "\\";
      else this.#takeOther(byte);
      at += 1;
    }
    this.#held.add(bytes.subarray(start, at));
    return at;
  }

  /** True once a character is not base64, or follows the padding. */
  get isBad(): boolean {
    return this.#isBad;
  }

  get isFile(): boolean {
    const isWhole = (this.#characters + this.#paddings) % 4 === 0 && this.#paddings <= 2;
    return !this.#isBad && isWhole && this.#characters > 0;
  }

  get fileBytes(): number {
    return Math.floor((this.#characters * 3) / 4);
  }

  /** The first bytes of the decoded file, enough to detect its type. */
  get firstBytes(): Buffer {
    return Buffer.from(this.#head, "base64");
  }

  pieces(): readonly Buffer[] {
    return this.#held.pieces();
  }

  #takeCharacters(bytes: Buffer, start: number, end: number): void {
    if (this.#paddings > 0) this.#isBad = true;
    this.#characters += end - start;
    const capacity = HEAD_CHARACTERS - this.#head.length;
    if (capacity > 0)
      this.#head += bytes.toString("latin1", start, Math.min(end, start + capacity));
  }

  #takeOther(byte: number): void {
    if (byte === PADDING) this.#paddings += 1;
    else this.#isBad = true;
  }

  /** Decodes a JSON escape: some encoders escape base64 characters that are special in HTML. */
  #takeEscape(byte: number): void {
    this.#escape += String.fromCharCode(byte);
    if (this.#escape.length < (this.#escape[1] === "u" ? UNICODE_ESCAPE_CHARACTERS : 2)) return;
    const code = decodeEscape(this.#escape);
    this.#escape = "";
    if (ALPHABET[code] === 1) this.#takeCharacters(Buffer.of(code), 0, 1);
    else this.#takeOther(code);
  }
}

const PADDING = 0x3d;
const SLASH = 0x2f;
const NO_CHARACTER = 0;
const UNICODE_ESCAPE_CHARACTERS = "\\u002b".length;
/** A multiple of four, as decoding needs, and enough to reach the first tag of an SVG file. */
const HEAD_CHARACTERS = 1_024;

/** Indexed by byte: 1 for the 64 characters of base64 (RFC 4648, section 4), else 0. */
const ALPHABET = new Uint8Array(256);
for (const byte of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
)) {
  ALPHABET[byte] = 1;
}

function alphabetEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && ALPHABET[bytes[at] as number] === 1) at += 1;
  return at;
}

function decodeEscape(escape: string): number {
  if (escape === "\\/") return SLASH;
  return /^\\u00[0-9a-fA-F]{2}$/.test(escape) ? Number.parseInt(escape.slice(2), 16) : NO_CHARACTER;
}
