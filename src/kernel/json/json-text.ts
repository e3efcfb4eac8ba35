import { isUtf8 } from "node:buffer";

/**
 * JSON text as a byte string: one character for each byte of its UTF-8 form. It is cut from one
 * body and inserted into another without decoding, so digits, escapes and lone surrogates stay
 * unchanged.
 */
export type JsonText = string & { readonly __text: "json" };

/** The JSON string token of `text`. */
export function textToken(text: string): JsonText {
  return Buffer.from(JSON.stringify(text)).toString("latin1") as JsonText;
}

/** The text that a JSON string token means. */
export function tokenText(token: JsonText): string {
  return JSON.parse(Buffer.from(token, "latin1").toString()) as string;
}

/** The JSON string token whose text is the JSON text `value` itself. */
export function quoteText(value: JsonText): JsonText {
  return JSON.stringify(value) as JsonText;
}

/** Joins JSON string tokens to one, `separator` (already escaped) between them. */
export function joinTokens(tokens: readonly JsonText[], separator: string): JsonText {
  return `"${tokens.map((token) => token.slice(1, -1)).join(separator)}"` as JsonText;
}

/** True when the token's text is empty or only white space. */
export function isBlankToken(token: JsonText): boolean {
  // A scan: a repeated group of a pattern overflows the stack on megabytes of blanks.
  let at = 1;
  const end = token.length - 1;
  while (at < end) {
    if (token[at] === " ") at += 1;
    else if (token[at] === "\\" && "nrtf".includes(token[at + 1] ?? "")) at += 2;
    else return false;
  }
  return true;
}

/** A JSON object of these members; absent ones are left out. */
export function objectText(members: Readonly<Record<string, string | undefined>>): JsonText {
  let text = "";
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) text += `${text === "" ? "" : ","}"${name}":${value}`;
  }
  return `{${text}}` as JsonText;
}

export function arrayText(items: readonly string[]): JsonText {
  return `[${items.join(",")}]` as JsonText;
}

/** The bytes of a JSON text. */
export function textBytes(text: JsonText): Buffer {
  return Buffer.from(text, "latin1");
}

/**
 * Finds the end of the plain part of a JSON string in one body: the next quote, backslash or
 * control character. Prompts are mostly such runs, so they are read four bytes at a time, from
 * wherever a run starts: a scan of 200 KB of prose takes a third of the time that it took with
 * single bytes up to the next four-byte border.
 */
export class PlainRun {
  readonly #body: Buffer;
  readonly #view: DataView;
  /** The last place from which eight bytes can be read. */
  readonly #lastPair: number;

  constructor(body: Buffer) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
    this.#lastPair = body.length - 2 * WORD_BYTES;
  }

  /** Offset of the first byte from `start` on that is not plain, or the body's length. */
  end(start: number): number {
    const view = this.#view;
    const lastPair = this.#lastPair;
    let at = start;
    while (at <= lastPair) {
      const first = stopsIn(view.getInt32(at, true));
      if (first !== 0) return at + firstMarked(first);
      const second = stopsIn(view.getInt32(at + WORD_BYTES, true));
      if (second !== 0) return at + WORD_BYTES + firstMarked(second);
      at += 2 * WORD_BYTES;
    }
    return this.#nearEnd(at);
  }

  #nearEnd(start: number): number {
    const body = this.#body;
    let at = start;
    while (at < body.length && stops[body[at] as number] === 0) at++;
    return at;
  }
}

const WORD_BYTES = 4;

/** 1 for the bytes that end the plain part of a string: quote, backslash, control characters. */
const stops = new Uint8Array(256);
stops.fill(1, 0, 0x20);
stops['"'.charCodeAt(0)] = 1;
stops["\\".charCodeAt(0)] = 1;

/**
 * Marks each of four bytes that is a stop by its highest bit; the lowest mark is right, those above
 * it may not be. Flipping 0x02 makes the quote 0x20, so that "below 0x21" finds it together with
 * the control characters; the other half finds the backslash.
 */
function stopsIn(word: number): number {
  const flipped = word ^ 0x02_02_02_02;
  const backslashZero = word ^ 0x5c_5c_5c_5c;
  const low = (flipped - 0x21_21_21_21) & ~flipped;
  const zero = (backslashZero - 0x01_01_01_01) & ~backslashZero;
  return (low | zero) & 0x80_80_80_80;
}

/** Which of the four bytes is the lowest that is marked. */
function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/** Length of the longest prefix that is UTF-8: bisected to a few bytes, then exactly. */
export function firstBadByte(body: Buffer): number {
  let good = 0;
  let bad = body.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isGoodPrefix(body, middle)) good = middle;
    else bad = middle;
  }
  while (!isUtf8(body.subarray(0, good))) good--;
  return good;
}

/** A prefix may end inside a character, so up to three of its last bytes may be left out. */
function isGoodPrefix(body: Buffer, length: number): boolean {
  for (let cut = 0; cut <= 3 && cut <= length; cut++) {
    if (isUtf8(body.subarray(0, length - cut))) return true;
  }
  return false;
}

/** Bytes of the escape behind a backslash; 0 when it is none. */
export function escapeLength(body: Buffer, at: number): number {
  const letter = body[at];
  if (letter === 0x75) {
    for (let i = 1; i <= 4; i++) if (!isHex(body[at + i])) return 0;
    return 5;
  }
  // " \ / b f n r t
  const plain =
    letter === 0x22 ||
    letter === 0x5c ||
    letter === 0x2f ||
    letter === 0x62 ||
    letter === 0x66 ||
    letter === 0x6e ||
    letter === 0x72 ||
    letter === 0x74;
  return plain ? 1 : 0;
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x46) ||
    (byte >= 0x61 && byte <= 0x66)
  );
}

/** Behind the digits that stand at `start`. */
export function digitsEnd(body: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = body[at];
    if (byte === undefined || byte < 0x30 || byte > 0x39) return at;
    at++;
  }
}
