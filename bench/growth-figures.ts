/** Figures of one kind, of both installations, round by round. */
export interface GrowthRow {
  readonly title: string;
  readonly unit: "us" | "ms" | "MB" | "s";
  /** Held to the goal; memory and the start depend on the catalog, which is meant to be there. */
  readonly isHeld: boolean;
  readonly empty: readonly number[];
  readonly grown: readonly number[];
}

/** A grown installation may cost so many times an empty one. */
export const GROWTH_MAX = 1.1;

/** The grown installation's smallest figure by the empty one's; NaN when there is none. */
export function growthOf({ empty, grown }: Pick<GrowthRow, "empty" | "grown">): number {
  return empty.length === 0 ? Number.NaN : Math.min(...grown) / Math.min(...empty);
}

type Unit = GrowthRow["unit"];

/** The rows of a run, in the order in which they were first measured. */
export class Figures {
  readonly #rows: Map<string, { unit: Unit; empty: number[]; grown: number[] }> = new Map();

  add(title: string, unit: Unit, seen: { readonly empty?: number; readonly grown?: number }): void {
    const row = this.#rows.get(title) ?? { unit, empty: [], grown: [] };
    this.#rows.set(title, row);
    if (seen.empty !== undefined) row.empty.push(rounded(seen.empty));
    if (seen.grown !== undefined) row.grown.push(rounded(seen.grown));
  }

  rows(): GrowthRow[] {
    return [...this.#rows].map(([title, row]) => {
      const isHeld = row.unit === "us" || row.unit === "ms";
      return { title, isHeld, ...row };
    });
  }
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
