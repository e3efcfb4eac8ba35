import type { Command } from "commander";

import { asText, matchesGlob } from "../../kernel/index.ts";
import { isMargin } from "../../listing-tools/index.ts";
import {
  type CommandAnswer,
  type Flags,
  OPTIONS,
  readText,
  UsageFault,
} from "../command-context.ts";

export function onListings(command: Command): Command {
  return command
    .option(...OPTIONS.manifests)
    .option(...OPTIONS.config)
    .option("--margin <percent>", "add this to every price; the provider is owed the price itself")
    .option("--yes", "take the default of every question that has one")
    .option("--force", "replace manifests that exist")
    .option(...OPTIONS.json);
}

export function readMargin(flags: Flags): string | undefined {
  const text = readText(flags, "margin");
  return text === undefined ? undefined : requireMargin(text);
}

export function requireMargin(text: string): string {
  if (isMargin(text)) return text;
  throw new UsageFault(`--margin must be percent such as 10 or 7.5, not ${text}`);
}

const PRICE = /^[0-9]{1,7}(?:\.[0-9]{1,6})?$/;

/** Requires a price in USD per million tokens. A price of 0 needs `--free` instead. */
export function requirePrice(text: string, flag: string): string {
  if (!PRICE.test(text)) {
    throw new UsageFault(
      `${flag} must be USD per million tokens such as 0.25, with at most six decimals, not ${text}`,
    );
  }
  if (/[1-9]/.test(text)) return text;
  throw new UsageFault(`${flag}: 0 gives the model away; say so with --free`);
}

/** All values of an option that can be given several times. */
export function toValues(value: Flags[string]): readonly string[] {
  return [value].flat().flatMap((each) => asText(each) ?? []);
}

/** The values of a repeatable option as one answer to its question; undefined if there are none. */
export function joinValues(value: Flags[string]): string | undefined {
  const values = toValues(value);
  return values.length === 0 ? undefined : values.join(" ");
}

export function splitWords(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

/**
 * The models of which a name matches a pattern (`*` is any text), or all if there are no patterns.
 * Throws a fault (`unknown`) if a pattern matches no model: a typing error would leave out a model.
 */
export function chosenBy<T>(
  globs: readonly string[],
  models: readonly T[],
  of: { readonly names: (model: T) => readonly string[]; readonly unknown: string },
): readonly T[] {
  const isNamed = (model: T, glob: string): boolean =>
    of.names(model).some((name) => matchesGlob(glob, name));
  const useless = globs.filter((glob) => !models.some((model) => isNamed(model, glob)));
  if (useless.length > 0) throw new UsageFault(`--models: ${of.unknown} ${useless.join(", ")}`);
  if (globs.length === 0) return models;
  return models.filter((model) => globs.some((glob) => isNamed(model, glob)));
}

export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A note about a model: why it is not listed, or a caution if it is listed. */
export type ModelNote = Readonly<Record<"model" | "code" | "message", string>>;

export interface InitResult {
  readonly file: string | undefined;
  readonly providerId: string;
  readonly listed: readonly string[];
  readonly skipped: readonly ModelNote[];
  readonly notes: readonly ModelNote[];
  readonly issues: readonly string[];
  /** The command that checks the manifest at the provider; undefined if no file was written. */
  readonly conformance: string | undefined;
}

/** A result for which nothing was written, with the facts known so far. */
export function startResult(
  providerId: string,
  known: Partial<Omit<InitResult, "providerId">> = {},
): InitResult {
  const nothing = { file: undefined, listed: [], skipped: [], notes: [], issues: [] };
  return { ...nothing, conformance: undefined, providerId, ...known };
}

/** Maximum entries of a list in the text answer, except the issues; the JSON answer has all. */
const SHOWN_MAX = 20;

export function initAnswer(result: InitResult): CommandAnswer {
  const { file, providerId, listed, skipped, notes, issues, conformance } = result;
  const ok = file !== undefined;
  const text = [
    ...(ok ? [`${file}: ${listed.length} models of ${providerId}`] : issues),
    ...firstLines(listed, (id) => `  ${id}`),
    ...firstLines(notes, ({ model, message }) => `${model}: ${message}`),
    ...firstLines(skipped, ({ model, message }) => `not listed: ${model}: ${message}`),
    ...(conformance === undefined ? [] : [`Next, within a budget: ${conformance}`]),
  ];
  return {
    json: {
      ok,
      file: file ?? null,
      provider: providerId,
      listed,
      skipped,
      notes,
      issues,
      conformance: conformance ?? null,
    },
    text: text.join("\n"),
  };
}

function firstLines<T>(items: readonly T[], line: (item: T) => string): readonly string[] {
  const lines = items.slice(0, SHOWN_MAX).map(line);
  const more = items.length - SHOWN_MAX;
  return more > 0 ? [...lines, `  … and ${more} more; --json has them all`] : lines;
}
