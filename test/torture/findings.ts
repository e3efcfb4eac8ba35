/** One thing that had to hold and did not. */
export interface Finding {
  readonly what: string;
  readonly count: number;
  readonly examples: readonly string[];
}

const EXAMPLES_MAX = 5;

/** Everything that was checked, and how often it did not hold. */
export class Findings {
  readonly #byName: Map<string, { count: number; examples: string[] }> = new Map();

  /** Names a thing that is checked, so that it is reported with 0 as well. */
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
