export interface Sort {
  readonly id: string;
  readonly direction: "ascending" | "descending";
}

/** The value by which a row is sorted. Rows with undefined come last in both directions. */
export type SortValue = string | number | bigint | undefined;

/** Returns a sorted copy; rows with equal values keep their order in both directions. */
export function sortRows<T>(
  rows: readonly T[],
  valueOf: (row: T) => SortValue,
  sort: Sort,
): readonly T[] {
  const turn = sort.direction === "ascending" ? 1 : -1;
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .sort((a, b) => compare(a.value, b.value, turn))
    .map(({ row }) => row);
}

function compare(a: SortValue, b: SortValue, turn: 1 | -1): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === "string" || typeof b === "string") {
    return turn * ORDER.compare(String(a), String(b));
  }
  return turn * (a < b ? -1 : a > b ? 1 : 0);
}
const ORDER = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
