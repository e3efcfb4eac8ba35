/** So few names are compared one by one: a set for each small object costs more. */
const LISTED_MAX = 8;

/** Names that were seen in one object; nearly always a few. */
export class SeenNames {
  readonly #listed: string[] = [];
  #others: Set<string> | undefined;

  get size(): number {
    return this.#listed.length + (this.#others?.size ?? 0);
  }

  /** False when it was seen before. */
  add(name: string): boolean {
    if (this.#listed.includes(name) || this.#others?.has(name) === true) return false;
    if (this.#listed.length < LISTED_MAX) this.#listed.push(name);
    else this.#others = (this.#others ?? new Set()).add(name);
    return true;
  }
}
