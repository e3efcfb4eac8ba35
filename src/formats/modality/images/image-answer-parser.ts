import { IMAGE_ANSWER_OTHER_BYTES_MAX, tryParse } from "../../../kernel/index.ts";
import { Base64Text } from "./base64-text.ts";

/**
 * Parses an answer while it arrives. Each string under a key `b64_json` becomes a `Base64Text`. All
 * other bytes form a small JSON text, in which the index into `texts` replaces that string:
 * `{"data":[{"b64_json":"0"}]}`. Parsing the small text and checking the base64 texts together
 * check the whole answer.
 */
export class ImageAnswerParser {
  readonly texts: Base64Text[] = [];
  /** The answer without its images; one character per byte. */
  #rest = "";
  #mode: "between" | "string" | "base64" = "between";
  #isEscaped = false;
  /** The start of the current or last string, which may be a key. */
  #string = "";
  /** The undecoded key of the member whose value comes next; else empty. */
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
/** The length of the key with every character escaped, and a little more. */
const KEY_BYTES_MAX = KEY.length * "\\u0000".length + 8;
/** Maximum images in an answer, far more than one request can ask for. */
const TEXTS_MAX = 16;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isBase64Key(written: string): boolean {
  return written === KEY || (written.includes("\\") && tryParse(`"${written}"`)?.value === KEY);
}
