const QUOTE = 34;
const BACKSLASH = 92;

/** Finds the end of a JSON object that arrives in fragments. Text after the end is dropped. */
export class JsonProgress {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isObject: boolean | undefined;

  /** True after the object's closing brace. Never true for text that is not an object. */
  isWhole = false;

  accept(fragment: string): string {
    if (this.isWhole) return "";
    for (let at = 0; at < fragment.length; at++) {
      this.#step(fragment.charCodeAt(at));
      if (this.isWhole) return fragment.slice(0, at + 1);
    }
    return fragment;
  }

  #step(code: number): void {
    if (this.#isInString) this.#stepInString(code);
    else if (code === QUOTE) this.#isInString = true;
    else if (code === 123 || code === 91) this.#depth += 1;
    else if (code === 125 || code === 93) this.#depth -= 1;
    if (this.#isObject === undefined && code > 32) this.#isObject = code === 123;
    this.isWhole = this.#isObject === true && this.#depth === 0;
  }

  #stepInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#isInString = false;
  }
}
