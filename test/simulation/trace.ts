const TAIL_LINES = 60;

/** A running hash of everything that happened, and the last lines of it for a reader. */
export class Trace {
  readonly #lines: string[] = [];
  readonly #keepsAll: boolean;
  #high = 0x811c9dc5;
  #low = 0x9747b28c;

  constructor(keepsAll: boolean) {
    this.#keepsAll = keepsAll;
  }

  note(line: string): void {
    for (let at = 0; at < line.length; at++) {
      const code = line.charCodeAt(at);
      this.#high = Math.imul(this.#high ^ code, 0x01000193);
      this.#low = Math.imul(this.#low ^ code, 0x85ebca6b) ^ (this.#low >>> 15);
    }
    this.#lines.push(line);
    if (!this.#keepsAll && this.#lines.length > 2 * TAIL_LINES) this.#lines.splice(0, TAIL_LINES);
  }

  /** Equal for two runs in which the same happened. */
  get hash(): string {
    const word = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
    return word(this.#high) + word(this.#low);
  }

  /** The last lines, or all lines if `keepsAll` is set. */
  get lines(): readonly string[] {
    return this.#keepsAll ? this.#lines : this.#lines.slice(-TAIL_LINES);
  }
}
