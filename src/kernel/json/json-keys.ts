/** Keys that some JSON parsers act on, refused outside of free data if the word table has them. */
export const FORBIDDEN_KEYS: readonly string[] = ["__proto__", "constructor", "prototype"];
/** Keys that are refused even in free data, where customers choose the names. */
export const FREE_DATA_FORBIDDEN_KEYS: readonly string[] = ["__proto__"];

export interface KeyRules {
  readonly forbidden: readonly string[];
  /**
   * Paths to free data, such as tool schemas, in which customers choose the names. A path lists the
   * keys from the root on; `""` matches any item of an array.
   */
  readonly freeData?: readonly (readonly string[])[];
  /** A top-level member that clients send again and again with the same bytes, such as `tools`. */
  readonly repeated?: string;
}

export const defaultRules: KeyRules = { forbidden: FREE_DATA_FORBIDDEN_KEYS };

export interface RuleWords {
  readonly table: WordTable;
  readonly forbidden: readonly number[];
  readonly forbiddenInFreeData: readonly number[];
  readonly freeData: readonly (readonly number[])[];
  /** The word id of `KeyRules.repeated`; 0 if the rules name no repeated member. */
  readonly repeated: number;
}

/** In a path of word ids, this stands for any item of an array. */
export const ARRAY_ITEM = -1;

const knownRules = new WeakMap<KeyRules, RuleWords>();

/* Keeps the compiled rules: compiling them for each body took half the time of a 1 KB scan. */
export function compileRules(rules: KeyRules, table: WordTable): RuleWords {
  const known = knownRules.get(rules);
  if (known?.table === table) return known;
  const { forbidden, freeData = [], repeated } = rules;
  const findId = (name: string): number => table.findId(name);
  const made = {
    table,
    forbidden: forbidden.map(findId),
    forbiddenInFreeData: FREE_DATA_FORBIDDEN_KEYS.map(findId),
    freeData: freeData.map((path) => path.map((key) => (key === "" ? ARRAY_ITEM : findId(key)))),
    repeated: repeated === undefined ? 0 : findId(repeated),
  };
  knownRules.set(rules, made);
  return made;
}

/**
 * Recognizes a fixed list of names in raw bytes, without creating strings. Word ids are 1, 2, … in
 * the order of the list; 0 means that the bytes are no known name.
 */
export class WordTable {
  readonly size: number;
  readonly #names: readonly string[];
  readonly #bytes: readonly Buffer[];
  readonly #slots = new Int32Array(SLOTS);

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#bytes = names.map((name) => Buffer.from(name));
    this.size = names.length;
    for (const [index, bytes] of this.#bytes.entries()) {
      let slot = hashName(bytes, 0, bytes.length);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
      this.#slots[slot] = index + 1;
    }
  }

  find(body: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    let slot = hashName(body, start, end);
    for (;;) {
      const id = this.#slots[slot] ?? 0;
      if (id === 0 || this.#equals(id, body, start, end)) return id;
      slot = (slot + 1) & (SLOTS - 1);
    }
  }

  findId(text: string): number {
    const bytes = Buffer.from(text);
    return this.find(bytes, 0, bytes.length);
  }

  nameOf(id: number): string | undefined {
    return this.#names[id - 1];
  }

  #equals(id: number, body: Uint8Array, start: number, end: number): boolean {
    const word = this.#bytes[id - 1];
    if (word === undefined || word.length !== end - start) return false;
    for (let i = 0; i < word.length; i++) if (word[i] !== body[start + i]) return false;
    return true;
  }
}

/** Several times the number of names, so that look-ups stay short. Must be a power of two. */
const SLOTS = 2048;

/** Hashes three bytes and the length, which distinguish field names well enough. */
function hashName(body: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = body[start] ?? 0;
  const middle = body[start + (length >> 1)] ?? 0;
  const last = body[end - 1] ?? 0;
  return (length * 89 + first * 7 + middle * 131 + last * 31) & (SLOTS - 1);
}

interface Level {
  readonly isArray: boolean;
  index: number;
  key: string;
}

/**
 * Finds the dotted path of the key at `offset`, for a message. The bytes before it must be
 * well-formed. Walks from the start of the body, so use it for refusals only.
 */
export function pathOfKey(body: Buffer, offset: number): string {
  const levels: Level[] = [];
  let lastString = "";
  for (let at = 0; at < offset; at++) {
    const level = levels.at(-1);
    switch (body[at] ?? 0) {
      case 0x22: {
        const end = stringEnd(body, at);
        lastString = JSON.parse(body.toString("utf8", at, end)) as string;
        at = end - 1;
        break;
      }
      case 0x3a:
        if (level) level.key = lastString;
        break;
      case 0x2c:
        if (level) level.index += 1;
        break;
      case 0x7b:
      case 0x5b:
        levels.push({ isArray: body[at] === 0x5b, index: 0, key: "" });
        break;
      case 0x7d:
      case 0x5d:
        levels.pop();
        break;
      default:
    }
  }
  const key = JSON.parse(body.toString("utf8", offset, stringEnd(body, offset))) as string;
  return [...levels.slice(0, -1).map(toStep), key].join(".");
}

const STEP_CHARS_MAX = 64;

function toStep(level: Level): string {
  return level.isArray ? String(level.index) : level.key.slice(0, STEP_CHARS_MAX);
}

function stringEnd(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== 0x22) at += body[at] === 0x5c ? 2 : 1;
  return at + 1;
}
