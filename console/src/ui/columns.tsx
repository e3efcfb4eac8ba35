import type { ReactNode } from "react";

import { formatCount } from "./format.ts";
import type { Column } from "./data-table.tsx";
import kit from "./kit.module.css";
import { parseUsd } from "./money-math.ts";
import { Money, type MoneyProps } from "./money.tsx";
import type { SortValue } from "./table-state.ts";
import { Time, type TimeProps } from "./time.tsx";

interface More<T> extends Partial<Column<T>> {
  /** Lets the reader sort by the values. Rows without a value come last. */
  readonly isSortable?: true;
  /** Text in rows without a value. Default: a dash. */
  readonly otherwise?: string;
}

export function column<T>(
  id: string,
  label: string,
  render: Column<T>["render"],
  more: Partial<Column<T>> = {},
): Column<T> {
  return { id, label, render, ...more };
}

/** The last column of a table, which has the buttons of each row. */
export function actionsColumn<T>(
  render: Column<T>["render"],
  more?: Partial<Column<T>>,
): Column<T> {
  return column("actions", "Actions", render, { align: "right", ...more });
}

/** A column of texts that contain numbers. */
export function figuresColumn<T>(
  id: string,
  label: string,
  show: (row: T) => string,
  more?: Partial<Column<T>>,
): Column<T> {
  const render = (row: T) => <span className={kit.figures}>{show(row)}</span>;
  return { id, label, align: "right", render, ...more };
}

/** A column of numbers. Without `show`, they have no decimals. */
export function numberColumn<T>(
  id: string,
  label: string,
  read: (row: T) => number | null | undefined,
  { show = formatCount, ...more }: More<T> & { readonly show?: (value: number) => string } = {},
): Column<T> {
  const draw = (value: number) => <span className={kit.figures}>{show(value)}</span>;
  return { id, label, align: "right", ...drawValues(read, draw, more) };
}

export function moneyColumn<T>(
  id: string,
  label: string,
  read: (row: T) => string | null | undefined,
  more: More<T> & Omit<MoneyProps, "usd"> = {},
): Column<T> {
  const { isBrief = false, headline = false, signed = false, ...rest } = more;
  const draw = (usd: string) => <Money {...{ usd, isBrief, headline, signed }} />;
  return { id, label, align: "right", ...drawValues(read, draw, rest, parseUsd) };
}

export function timeColumn<T>(
  id: string,
  label: string,
  read: (row: T) => string | null | undefined,
  { precision = "minute", ...more }: More<T> & Pick<TimeProps, "precision"> = {},
): Column<T> {
  return { id, label, ...drawValues(read, (at) => <Time {...{ at, precision }} />, more) };
}

function drawValues<T, V extends string | number>(
  read: (row: T) => V | null | undefined,
  draw: (value: V) => ReactNode,
  { isSortable, otherwise = "–", ...more }: More<T>,
  toSorted: (value: V) => SortValue = (value) => value,
): Partial<Column<T>> & Pick<Column<T>, "render"> {
  const map = <R,>(row: T, change: (value: V) => R, none: R): R => {
    const value = read(row);
    return value === null || value === undefined ? none : change(value);
  };
  return {
    render: (row) => map<ReactNode>(row, draw, otherwise),
    ...(isSortable && { sortValue: (row: T) => map<SortValue>(row, toSorted, undefined) }),
    ...more,
  };
}
