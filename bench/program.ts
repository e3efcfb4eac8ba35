import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { DisposalStack } from "../src/app/disposal-stack.ts";

export type Say = (line: string) => void;

export interface Table {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Report {
  readonly tables: readonly Table[];
  /** Faults, and reasons not to trust the figures; a run with one of them fails. */
  readonly problems: readonly string[];
  /** The data behind the tables, for `--save`. */
  readonly data?: unknown;
}

export interface Context {
  /** Disposes, after the run, of the processes and folders that were registered here. */
  readonly resources: DisposalStack;
  readonly say: Say;
}

export interface Program {
  readonly USAGE: string;
  run(words: readonly string[], context: Context): Promise<Report>;
}

/**
 * Reads `--name value` options. An option with a `max` takes a number above 0 and up to `max`, one
 * whose default is false takes no value, and any other takes a text.
 */
export function parseWords<T extends Readonly<Record<string, Default>>>(
  words: readonly string[],
  defaults: T,
): { readonly [Name in keyof T]: ValueOf<T[Name]> } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: value === false ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { values } = parseArgs({ args: [...words], options, strict: true });
  const read = Object.entries(defaults).map(([name, value]) => {
    const given = values[name];
    if (typeof value !== "object") return [name, given ?? value];
    return [name, given === undefined ? value.value : numberOf(name, String(given), value.max)];
  });
  return Object.fromEntries(read) as { readonly [Name in keyof T]: ValueOf<T[Name]> };
}

type Default = string | false | { readonly value: number; readonly max: number };
type ValueOf<D extends Default> = D extends string ? string : D extends false ? boolean : number;

function numberOf(name: string, text: string, max: number): number {
  const value = Number(text);
  if (value > 0 && value <= max) return value;
  throw new Error(`--${name} must be a number above 0 and at most ${max}, got ${text}`);
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

export function buildGateway(say: Say): void {
  say("building dist/");
  const built = spawnSync("npm", ["run", "build"], { cwd: ROOT, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
}

/** The percentile at `part`, from 0 to 1, by nearest rank; 0 without values. */
export function share(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

export const median = (values: readonly number[]): number => share(values, 0.5);

/** Writes a number with two decimals below 10, with one below 100, and otherwise with none. */
export function print(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);
}
