import type { Sort } from "./sort-rows.ts";

/**
 * The state that a table keeps in the address of its page; a second table of a page has names of
 * its own.
 */
export type TableSearch = Readonly<Record<string, string | undefined>>;

/** The page sizes of a table; 0 for all rows. */
export const PAGE_SIZES: readonly number[] = [10, 25, 50, 100, 200, 0];
export const PAGE_ROWS = 50;
/** On a phone a row is a card, and fifty of them are thirteen screens. */
export const PAGE_CARDS = 10;

/** `"spent.desc"` as an order; undefined if the address names no column that can be sorted by. */
export function readSort(text: string | undefined, sortable: readonly string[]): Sort | undefined {
  const match = /^(.+)\.(asc|desc)$/.exec(text ?? "");
  const id = match?.[1];
  if (id === undefined || !sortable.includes(id)) return undefined;
  return { id, direction: match?.[2] === "asc" ? "ascending" : "descending" };
}

export function writeSort({ id, direction }: Sort): string {
  return `${id}.${direction === "ascending" ? "asc" : "desc"}`;
}

/** The rows a page has, by the address; an edited address breaks nothing. */
export function readSize(text: string | undefined, usual: number = PAGE_ROWS): number {
  const size = text === "all" ? 0 : Number(text ?? Number.NaN);
  return PAGE_SIZES.includes(size) ? size : usual;
}

export function writeSize(size: number, usual: number = PAGE_ROWS): string | undefined {
  if (size === usual) return undefined;
  return size === 0 ? "all" : String(size);
}

export interface PageOfRows {
  /** Counted from 1. */
  readonly page: number;
  readonly pages: number;
  readonly from: number;
  readonly to: number;
}

/** Which rows are shown; a page behind the last one is the last one. */
export function cutPage(count: number, size: number, wanted: string | undefined): PageOfRows {
  if (size === 0) return { page: 1, pages: 1, from: 0, to: count };
  const pages = Math.max(1, Math.ceil(count / size));
  const asked = /^\d{1,6}$/.test(wanted ?? "") ? Number(wanted) : 1;
  const page = Math.min(pages, Math.max(1, asked));
  return { page, pages, from: (page - 1) * size, to: Math.min(count, page * size) };
}

/** When a column is shown: always, in wide windows, or when the reader asks for it. */
export type ShownFrom = "always" | "wide" | "asked";

/** The reader's choice of columns, by id. */
export type ColumnChoice = Readonly<Record<string, boolean>>;

export function isShown(
  { id, shownFrom = "always" }: { readonly id: string; readonly shownFrom?: ShownFrom },
  { choice, isWide }: { readonly choice: ColumnChoice; readonly isWide: boolean },
): boolean {
  return choice[id] ?? (shownFrom === "always" || (shownFrom === "wide" && isWide));
}

/** The columns chosen in this browser for the table of this name. */
export function readChoice(table: string): ColumnChoice {
  try {
    const kept: unknown = JSON.parse(globalThis.localStorage.getItem(toStorageName(table)) ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter(([, value]) => isBoolean(value)));
  } catch {
    return {};
  }
}

export function writeChoice(table: string, choice: ColumnChoice): void {
  try {
    if (Object.keys(choice).length === 0) globalThis.localStorage.removeItem(toStorageName(table));
    else globalThis.localStorage.setItem(toStorageName(table), JSON.stringify(choice));
  } catch {
    // A browser that keeps nothing shows the usual columns on the next visit.
  }
}

function toStorageName(table: string): string {
  return `tm-columns-${table}`;
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
