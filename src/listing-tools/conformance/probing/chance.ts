import { createHash, randomUUID } from "node:crypto";

/** Random values by name: fixed in a run, new in each run, so that no provider learns answers. */
export class Chance {
  readonly #seed: string;

  constructor(seed: string = randomUUID()) {
    this.#seed = seed;
  }

  /** A whole number from `min` to below `end`. */
  whole(name: string, min: number, end: number): number {
    const hash = createHash("sha256").update(`${this.#seed} ${name}`).digest();
    return min + (hash.readUInt32BE(0) % (end - min));
  }

  pick<T>(name: string, items: readonly [T, ...T[]]): T {
    return items[this.whole(name, 0, items.length)] ?? items[0];
  }

  shuffled<T>(name: string, items: readonly T[]): readonly T[] {
    const keyed = items.map((item, at) => ({
      item,
      key: this.whole(`${name} ${at}`, 0, 2 ** 31),
    }));
    return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
  }
}
