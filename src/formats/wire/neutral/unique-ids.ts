/** Tool call ids of one answer: the provider's where it gave one, else made; never one twice. */
export class UniqueIds {
  readonly #taken = new Set<string>();
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  take(offered: string): string {
    const isUsable = offered !== "" && !this.#taken.has(offered);
    let id = isUsable ? offered : `${this.#prefix}_${this.#taken.size}`;
    while (this.#taken.has(id)) id += "x";
    this.#taken.add(id);
    return id;
  }
}
