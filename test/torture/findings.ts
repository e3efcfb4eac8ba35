/** A check, how often it failed, and some examples. */
export interface Finding {
  readonly what: string;
  readonly count: number;
  readonly examples: readonly string[];
}

const EXAMPLES_MAX = 5;

/** All checks that were made, and how often each failed. */
export class Findings {
  readonly #byName: Map<string, { count: number; examples: string[] }> = new Map();

  /** Registers a check, so that it is reported even if it never fails. */
  expect(what: string): void {
    if (!this.#byName.has(what)) this.#byName.set(what, { count: 0, examples: [] });
  }

  add(what: string, example: string): void {
    this.expect(what);
    const found = this.#byName.get(what);
    if (found === undefined) return;
    found.count += 1;
    if (found.examples.length < EXAMPLES_MAX) found.examples.push(example);
  }

  all(): readonly Finding[] {
    return [...this.#byName].map(([what, found]) => ({ what, ...found }));
  }

  violations(): readonly Finding[] {
    return this.all().filter((each) => each.count > 0);
  }
}
