import { existsSync, readFileSync } from "node:fs";

import type { Command } from "commander";

import { defined, isDay } from "../kernel/index.ts";
import { validateManifest } from "../catalog/index.ts";
import {
  findHead,
  type ImportInput,
  importListings,
  type ImportResult,
  isImportable,
  isMargin,
  isListingSource,
  LISTING_SOURCES,
  type ListingSource,
  type ProviderHead,
  providerHeads,
  type SourceInput,
} from "../listing-tools/index.ts";
import {
  answering,
  collect,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  OPTIONS,
  pickTexts,
  UsageFault,
} from "./command-context.ts";
import { toValues } from "./manifest-init/init-flags.ts";
import { readSourceFile, splitSource } from "./read-source-file.ts";
import { writeWhole } from "./replace-file.ts";

export function addManifestImportCommand(manifest: Command, context: CommandContext): void {
  manifest
    .command("import <file>")
    .description(
      "draft a provider's manifest from a public price list; exit 1 when it lists nothing",
    )
    .option("--from <source>", `what the file is: ${LISTING_SOURCES.join(", ")}`)
    .option("--provider <id>", "whose models to take, such as openai")
    .option("--models <glob>", "take ids like this only; may be given again", collect, [])
    .option("--margin <percent>", "sell above the source's prices, which become purchase prices")
    .option(
      "--against <source=file>",
      "a second source: what none agrees with is staged; may be given again",
      collect,
      [],
    )
    .option("--head <file>", "everything of the manifest but its models, instead of the one known")
    .option("--capacity", "write the source's rate limits, which are those of a new account")
    .option(
      "--dated <day>",
      "the day the file speaks of (default: in its name, else of its server)",
    )
    .option("--out <file>", "write the manifest here; - is standard output", "-")
    .option("--overwrite", "replace the file of --out")
    .option(...OPTIONS.json)
    .action(answering(context, importFile));
}

async function importFile(
  _context: CommandContext,
  file: string,
  flags: Flags,
): Promise<CommandAnswer> {
  const { provider, margin, dated, out = "-", ...named } = pickTexts(flags);
  const missing = ["from", "provider"].filter((name) => flags[name] === undefined);
  if (provider === undefined || named["from"] === undefined) {
    throw new UsageFault(`missing ${missing.map((name) => `--${name}`).join(" and ")}`);
  }
  const from = readSource(named["from"]);
  if (margin !== undefined && !isMargin(margin)) {
    throw new UsageFault(`--margin must be a percentage such as 10 or 7.5, not ${margin}`);
  }
  if (dated !== undefined && !isDay(dated)) {
    throw new UsageFault(`--dated must be a day written YYYY-MM-DD, not ${dated}`);
  }
  if (out !== "-" && existsSync(out) && flags["overwrite"] !== true) {
    throw new UsageFault(`${out}: is there already; add --overwrite to replace it`);
  }
  const head = chooseHead(provider, named["head"], from);
  const source = { from, ...(await readSourceFile(file, dated)) };
  const against: SourceInput[] = [];
  for (const each of toValues(flags["against"])) {
    const [second, path] = splitSource(each, "--against");
    against.push({ from: second, ...(await readSourceFile(path, undefined)) });
  }
  const models = toValues(flags["models"]);
  const withCapacity = flags["capacity"] === true;
  const input = { head, source, against, models, withCapacity, ...defined({ margin }) };
  return place(importListings(input), source, out);
}

function readSource(from: string): ListingSource {
  if (isListingSource(from)) return from;
  throw new UsageFault(`--from must be one of ${LISTING_SOURCES.join(", ")}, not ${from}`);
}

function chooseHead(
  provider: string,
  file: string | undefined,
  from: ListingSource,
): ImportInput["head"] {
  const head = file === undefined ? findHead(provider) : readHead(file);
  if (head === undefined) {
    const known = providerHeads().filter(isImportable);
    const ids = known.map((each) => each.provider.id).join(", ");
    throw new UsageFault(`--provider ${provider} is not known; give --head, or one of ${ids}`);
  }
  if (head.provider.id !== provider) {
    throw new UsageFault(`--head is of ${head.provider.id}, not of ${provider}`);
  }
  if (!isImportable(head)) {
    throw new UsageFault(`${provider}: no source lists it; use tokenmarket manifest init`);
  }
  if (head.sources[from] === undefined) {
    const named = Object.keys(head.sources).join(", ");
    throw new UsageFault(`--from ${from} does not list ${provider}; these do: ${named}`);
  }
  return head;
}

function readHead(file: string): ProviderHead {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file; check --head`);
  const head: unknown = JSON.parse(readFileSync(file, "utf8"));
  return head as ProviderHead;
}

function renderManifest(manifest: object): string {
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const verdict = validateManifest(text);
  if (verdict.ok) return text;
  const problems = verdict.problems.map((each) => `${each.pointer}: ${each.message}`);
  throw new UsageFault(`the manifest would not be valid:\n${problems.join("\n")}`);
}

function place(
  { listed, staged, skipped, notes, manifest }: ImportResult,
  { from, dated }: SourceInput,
  out: string,
): CommandAnswer {
  const text = manifest && renderManifest(manifest);
  const toOutput = out === "-";
  const ok = listed.length > 0;
  // If no model is listed, an existing file is kept, because it may list models that this import
  // would stage.
  const isKept = !ok && existsSync(out);
  const file = toOutput || text === undefined || isKept ? null : out;
  if (file !== null && text !== undefined) writeWhole(file, text);
  const sha256 = manifest?.catalog_source?.sha256 ?? null;
  const inJson = toOutput && manifest !== undefined ? { manifest } : {};
  const outcome = { listed, staged, skipped, notes };
  return {
    json: { ok, file, source: { from, dated, sha256 }, ...outcome, ...inJson },
    text:
      toOutput && text !== undefined
        ? text.trimEnd()
        : [
            ...notes.map(({ model, code, message }) => `${model}: ${code}: ${message}`),
            `${listed.length} listed, ${staged.length} staged, ${skipped.length} skipped` +
              (file === null ? "; nothing was written" : `; wrote ${file}`),
          ].join("\n"),
  };
}
