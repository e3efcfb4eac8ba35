export interface Sort {
  /** The column. */
  readonly id: string;
  readonly direction: "ascending" | "descending";
}

/** A sorted copy; rows with equal values stay in the order they came in, either way. */
export function sortRows<T>(
  rows: readonly T[],
  valueOf: (row: T) => string | number | bigint,
  sort: Sort,
): readonly T[] {
  const turn = sort.direction === "ascending" ? 1 : -1;
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .sort((a, b) => turn * compare(a.value, b.value))
    .map(({ row }) => row);
}

function compare(a: string | number | bigint, b: string | number | bigint): number {
  if (typeof a === "string" || typeof b === "string") return ORDER.compare(String(a), String(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
const ORDER = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
