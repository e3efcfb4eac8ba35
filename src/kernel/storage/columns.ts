import { AssertionFault } from "../core/assert.ts";
import { CAP_FIELDS, type CapPeriod } from "../core/cap-period.ts";
import type { MicroUsd, PicoUsd } from "../core/money.ts";

export type Row = Readonly<Record<string, unknown>>;
type Scalar = bigint | number | boolean | string | null;
type SqlType = "bigint" | "boolean" | "integer" | "numeric" | "smallint" | "text" | "uuid";

interface Cell<T> {
  readonly name: string;
  /** How the column appears in a select list: its name, or `expression as name`. */
  readonly sql: string;
  /** The element type of the column's array in a batch. */
  readonly type: SqlType;
  /** True if the values need no quotes in a batch. */
  readonly isPlain: boolean;
  write(this: void, value: T): Scalar;
}

/** Reads and writes one value of the program, in one or several columns of the database. */
export interface Column<T> {
  readonly cells: readonly Cell<T>[];
  readonly read: (row: object) => T;
}

export type ColumnsOf<T> = { readonly [P in keyof T]-?: Column<T[P]> };

/** The columns of an object. Properties that read as undefined are left out. */
export interface Columns<T> extends Column<T> {
  /** The column list for `select` or `returning`. */
  readonly sql: string;
  /** Like `sql`, but qualifies columns with a table alias; expressions stay unchanged. */
  sqlOf(alias: string): string;
  /** Names and types, as `jsonb_to_recordset` declares its columns. */
  readonly typesSql: string;
  /** The parameters of a batch, an array for each column: `$1::text[], $2::bigint[], …`. */
  readonly arraysSql: string;
  record(value: T): Readonly<Record<string, Scalar>>;
}

/** The object type that `columns` reads and writes, so that stores need not declare it again. */
export type RecordOf<C> = C extends Columns<infer T> ? Readonly<T> : never;

export function columns<T extends object>(of: ColumnsOf<T>): Columns<T> {
  const properties = Object.entries(of) as [keyof T, Column<T[keyof T]>][];
  const cells = properties.flatMap(([property, column]) =>
    column.cells.map((cell): Cell<T> => ({
      ...cell,
      write: (value) => cell.write(value[property]),
    })),
  );
  return {
    cells,
    sql: cells.map(({ sql }) => sql).join(", "),
    sqlOf: (alias) =>
      cells.map(({ name, sql }) => (sql === name ? `${alias}.${sql}` : sql)).join(", "),
    typesSql: cells.map(({ name, type }) => `${name} ${type}`).join(", "),
    arraysSql: cells.map(({ type }, at) => `$${at + 1}::${type}[]`).join(", "),
    record: (value) => Object.fromEntries(cells.map((cell) => [cell.name, cell.write(value)])),
    read: (row) => {
      const read: Partial<T> = {};
      for (const [property, column] of properties) {
        const value = column.read(row);
        if (value !== undefined) read[property] = value;
      }
      return read as T;
    },
  };
}

export function marks(length: number): string {
  return Array.from({ length }, (_, at) => `$${at + 1}`).join(", ");
}

/** The parameters of a batch: for each column, an array literal with the values of all rows. */
export function batchValues<T>({ cells }: Columns<T>, rows: readonly T[]): string[] {
  return cells.map((cell) =>
    cell.isPlain
      ? plainColumn(rows, (row) => cell.write(row))
      : textColumn(rows, (row) => cell.write(row) as string | null),
  );
}

/** Makes a value nullable: it reads as null if its first column is null. */
export function orNull<T>(of: Column<T>): Column<T | null> {
  return missable(of, null);
}

/** Makes a value optional: the property is left out if its first column is null. */
export function orAbsent<T>(of: Column<T>): Column<T | undefined> {
  return missable(of, undefined);
}

function missable<T, N>({ cells, read }: Column<T>, missing: N): Column<T | N> {
  const first = cells[0]?.name ?? "";
  return {
    cells: cells.map((cell) => ({
      ...cell,
      write: (value) => (value === missing ? null : cell.write(value as T)),
    })),
    read: (row) => (readValue(row, first) === null ? missing : read(row)),
  };
}

export function computed<T>(sql: string, { cells, read }: Column<T>): Column<T> {
  return { cells: cells.map((cell) => ({ ...cell, sql: `${sql} as ${cell.name}` })), read };
}

export function text<T extends string>(name: string): Column<T> {
  return stored(name, "text", { isPlain: false });
}

/** A text column of letters, digits, `-`, `_` and `/` only, because a batch writes no quotes. */
export function word<T extends string>(name: string, type: "text" | "uuid" = "text"): Column<T> {
  return stored(name, type);
}

export function bool<T extends boolean>(name: string): Column<T> {
  return stored(name, "boolean");
}

export function integer<T extends number>(
  name: string,
  type: "integer" | "smallint" = "integer",
): Column<T> {
  return stored(name, type);
}

export function big<T extends bigint>(name: string): Column<T> {
  return stored(name, "bigint");
}

/** A `bigint` column whose values are small enough for a JavaScript number. */
export function count(name: string): Column<number> {
  return { ...stored<number>(name, "bigint"), read: (row) => Number(readValue(row, name)) };
}

export function micro(name: string): Column<MicroUsd> {
  return stored(name, "bigint");
}

export function pico(name: string): Column<PicoUsd> {
  return stored(name, "numeric");
}

/** A `timestamptz` column that is read as milliseconds since 1970; a batch writes a `bigint`. */
export function instantMs(name: string): Column<number> {
  return {
    ...stored<number>(name, "bigint", { write: Math.round }),
    read: (row) => (readValue(row, name) as Date).getTime(),
  };
}

/** A duration in milliseconds. A batch rounds it to whole milliseconds. */
export function durationMs(name: string): Column<number> {
  return stored(name, "integer", { write: Math.round });
}

/** A column whose values the driver parses (JSON, a list, bytes). No batch writes it. */
export function opaque<T>(name: string): Column<T> {
  const write = (): never => {
    throw new AssertionFault(`no batch writes the column ${name}`);
  };
  const cell: Cell<T> = { name, sql: name, type: "text", isPlain: true, write };
  return { cells: [cell], read: (row) => readValue(row, name) as T };
}

function stored<T extends Scalar>(
  name: string,
  type: SqlType,
  more: Partial<Pick<Cell<T>, "isPlain" | "write">> = {},
): Column<T> {
  const cell: Cell<T> = { name, sql: name, type, isPlain: true, write: (value) => value, ...more };
  return { cells: [cell], read: (row) => readValue(row, name) as T };
}

function readValue(row: object, name: string): unknown {
  return (row as Row)[name];
}

/** Matches text that needs no quotes in an array literal of PostgreSQL. */
const PLAIN = /^[\w./:@+-]+$/;

/** Writes an array literal of values that need no quotes: numbers, booleans, null, and words. */
export function plainColumn<T>(
  rows: readonly T[],
  read: (row: T) => bigint | number | boolean | string | null,
): string {
  let array = "{";
  for (let i = 0; i < rows.length; i++) {
    const value = read(rows[i] as T);
    if (i > 0) array += ",";
    array += value === null ? "NULL" : value;
  }
  return array + "}";
}

/** Writes an array literal of arbitrary texts, with quotes where needed. */
export function textColumn<T>(rows: readonly T[], read: (row: T) => string | null): string {
  let array = "{";
  for (let i = 0; i < rows.length; i++) {
    const value = read(rows[i] as T);
    array += i === 0 ? "" : ",";
    array += value === null ? "NULL" : PLAIN.test(value) ? quoteWord(value) : quoteValue(value);
  }
  return array + "}";
}

function quoteWord(value: string): string {
  // The word `null` gets quotes, because PostgreSQL would read it as NULL without them.
  return value.length === 4 && value.toLowerCase() === "null" ? `"${value}"` : value;
}

/** Quotes a value and drops its NUL characters, which PostgreSQL cannot store. */
function quoteValue(value: string): string {
  return `"${value.replaceAll("\0", "").replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** Parses an array literal of unquoted values: `{1,2,3}`. */
export function readPlainColumn(array: string | undefined | null): string[] {
  if (array === undefined || array === null || array === "{}") return [];
  return array.slice(1, -1).split(",");
}

export function capColumn(period: CapPeriod): string {
  return CAP_FIELDS[period].replace("usd", "micro_usd");
}

/** Returns an SQL condition: the key has a daily or weekly cap, so its daily spend is stored. */
export function hasDailySpendSql(key = "api_key"): string {
  return `(${key}.${capColumn("day")} is not null or ${key}.${capColumn("week")} is not null)`;
}
