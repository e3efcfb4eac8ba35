import { JSON_DEPTH_MAX } from "../core/constants.ts";
import { PARSED_KEYS_MAX, PARSED_STEPS_MAX, PARSED_VALUES_MAX } from "./json-limits.ts";

/**
 * Decides before outside text is parsed that this cannot take long: `JSON.parse` has no bound of its
 * own, and 30 MiB of brackets keep it busy for seconds. Several texts of one answer share a budget.
 * Whether the text is JSON is for the parser to find out; long strings are skipped, not read.
 */
export class JsonBudget {
  readonly #valuesMax: number;
  #values = 0;
  #keys = 0;
  #stepsLeft = PARSED_STEPS_MAX;
  #escapes = 0;

  /** `valuesMax`: values with their keys. Default: those of the largest answer. */
  constructor(valuesMax = PARSED_VALUES_MAX) {
    this.#valuesMax = valuesMax;
  }

  /** Takes what the text costs; false when it is nested too deep or the rest does not suffice. */
  allows(text: string): boolean {
    let depth = 0;
    let at = 0;
    // Where the steps run out: the place moves on by what is skipped of strings.
    let endAt = this.#stepsLeft;
    while (at < text.length) {
      if (at >= endAt) return false;
      const code = text.charCodeAt(at);
      at += 1;
      if (code === QUOTE) {
        const behind = this.#behindString(text, at);
        endAt += behind - at;
        at = behind;
      } else if (code === COLON) this.#keys += 1;
      else if (code === COMMA) this.#values += 1;
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        this.#values += 1;
        depth += 1;
      } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
      else continue;
      if (depth > JSON_DEPTH_MAX || this.#isSpent()) return false;
    }
    this.#stepsLeft = endAt - at;
    return true;
  }

  /** The place behind the closing quote of the string whose text starts at `from`. */
  #behindString(text: string, from: number): number {
    for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
      let slashes = 0;
      while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
      this.#escapes += slashes;
      if (slashes % 2 === 0) return at + 1;
      if (this.#isSpent()) break;
    }
    return text.length;
  }

  #isSpent(): boolean {
    return (
      this.#values + this.#keys > this.#valuesMax ||
      this.#keys > PARSED_KEYS_MAX ||
      this.#escapes > PARSED_STEPS_MAX
    );
  }
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
