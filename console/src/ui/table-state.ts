import { recallFields, remember } from "./browser-memory.ts";

/** A table's query parameters in the page's URL. A page's second table adds a prefix to them. */
export type TableSearch = Readonly<Record<string, string | undefined>>;

/** Page sizes that the reader can choose; 0 shows all rows. */
export const PAGE_SIZES: readonly number[] = [10, 25, 50, 100, 200, 0];
export const PAGE_ROWS = 50;
/** Rows per page on a phone, where 50 rows would fill 13 screens. */
export const PAGE_CARDS = 10;

/** Parses a sort order such as `"spent.desc"`. Undefined if the column cannot be sorted. */
export function readSort(text: string | undefined, sortable: readonly string[]): Sort | undefined {
  const match = /^(.+)\.(asc|desc)$/.exec(text ?? "");
  const id = match?.[1];
  if (id === undefined || !sortable.includes(id)) return undefined;
  return { id, direction: match?.[2] === "asc" ? "ascending" : "descending" };
}

export function writeSort({ id, direction }: Sort): string {
  return `${id}.${direction === "ascending" ? "asc" : "desc"}`;
}

/** Rows per page from the URL, or `usual` if the URL has none or a size that is not offered. */
export function readSize(text: string | undefined, usual: number = PAGE_ROWS): number {
  const size = text === "all" ? 0 : Number(text ?? Number.NaN);
  return PAGE_SIZES.includes(size) ? size : usual;
}

export function writeSize(size: number, usual: number = PAGE_ROWS): string | undefined {
  if (size === usual) return undefined;
  return size === 0 ? "all" : String(size);
}

export interface PageOfRows {
  /** The number of the page, from 1. */
  readonly page: number;
  readonly pages: number;
  readonly from: number;
  readonly to: number;
}

/** The range of rows that a page shows. A number after the last page means the last page. */
export function cutPage(count: number, size: number, wanted: string | undefined): PageOfRows {
  if (size === 0) return { page: 1, pages: 1, from: 0, to: count };
  const pages = Math.max(1, Math.ceil(count / size));
  const asked = /^\d{1,6}$/.test(wanted ?? "") ? Number(wanted) : 1;
  const page = Math.min(pages, Math.max(1, asked));
  return { page, pages, from: (page - 1) * size, to: Math.min(count, page * size) };
}

/** Up to this number of rows, a table has no page controls if one page shows them all. */
const SHORT_ROWS = 25;

/** A short table needs no page controls; on a phone, a table is short up to `usual` rows. */
export function needsPages(count: number, onPage: number, usual: number): boolean {
  return onPage < count || count > Math.min(SHORT_ROWS, usual);
}

/** When a column is shown: always, in wide windows only, or only if the reader asks for it. */
export type ShownFrom = "always" | "wide" | "asked";

export type ColumnChoice = Readonly<Record<string, boolean>>;

export function isShown(
  { id, shownFrom = "always" }: { readonly id: string; readonly shownFrom?: ShownFrom },
  { choice, isWide }: { readonly choice: ColumnChoice; readonly isWide: boolean },
): boolean {
  return choice[id] ?? (shownFrom === "always" || (shownFrom === "wide" && isWide));
}

export function readChoice(table: string): ColumnChoice {
  const kept = Object.entries(recallFields("localStorage", toStorageName(table)));
  return Object.fromEntries(
    kept.filter((entry): entry is [string, boolean] => typeof entry[1] === "boolean"),
  );
}

export function writeChoice(table: string, choice: ColumnChoice): void {
  const isUsual = Object.keys(choice).length === 0;
  remember("localStorage", toStorageName(table), isUsual ? undefined : choice);
}

function toStorageName(table: string): string {
  return `tm-columns-${table}`;
}

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
