import { existsSync, readFileSync, writeFileSync } from "node:fs";

import type { Command } from "commander";

import { isDay } from "../kernel/index.ts";
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
  JSON_OPTION,
  UsageFault,
} from "./command-context.ts";
import { readSourceFile, splitSource } from "./read-source-file.ts";

interface ImportFlags {
  readonly from?: string;
  readonly provider?: string;
  readonly models: readonly string[];
  readonly margin?: string;
  readonly against: readonly string[];
  readonly head?: string;
  readonly capacity?: boolean;
  readonly dated?: string;
  readonly out: string;
  readonly overwrite?: boolean;
  readonly json?: boolean;
}

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
    .option(...JSON_OPTION)
    .action(
      answering(context, async (_, file: string, flags: ImportFlags) => {
        const { from, head } = checkFlags(flags);
        const { margin, models, out } = flags;
        const source = { from, ...(await readSourceFile(file, flags.dated)) };
        const against: SourceInput[] = [];
        for (const each of flags.against) {
          const [second, named] = splitSource(each, "--against");
          against.push({ from: second, ...(await readSourceFile(named, undefined)) });
        }
        const result = importListings({
          head,
          source,
          against,
          models,
          withCapacity: flags.capacity === true,
          ...(margin === undefined ? {} : { margin }),
        });
        const text = renderManifest(result);
        // If no model is listed, an existing file is kept, because it may list models that this
        // import would stage.
        const isKept = result.listed.length === 0 && existsSync(out);
        if (text !== undefined && out !== "-" && !isKept) writeFileSync(out, text);
        return renderAnswer({ result, source, out, text: isKept ? undefined : text });
      }),
    );
}

function checkFlags(flags: ImportFlags): {
  readonly from: ListingSource;
  readonly head: ImportInput["head"];
} {
  const missing = (["from", "provider"] as const).filter((name) => flags[name] === undefined);
  if (missing.length > 0 || flags.from === undefined || flags.provider === undefined) {
    throw new UsageFault(`missing ${missing.map((name) => `--${name}`).join(" and ")}`);
  }
  if (!isListingSource(flags.from)) {
    throw new UsageFault(`--from must be one of ${LISTING_SOURCES.join(", ")}, not ${flags.from}`);
  }
  if (flags.margin !== undefined && !isMargin(flags.margin)) {
    throw new UsageFault(`--margin must be a percentage such as 10 or 7.5, not ${flags.margin}`);
  }
  if (flags.dated !== undefined && !isDay(flags.dated)) {
    throw new UsageFault(`--dated must be a day written YYYY-MM-DD, not ${flags.dated}`);
  }
  if (flags.out !== "-" && existsSync(flags.out) && flags.overwrite !== true) {
    throw new UsageFault(`${flags.out}: is there already; add --overwrite to replace it`);
  }
  return { from: flags.from, head: chooseHead(flags.provider, flags) };
}

function chooseHead(provider: string, { head: file, from }: ImportFlags): ImportInput["head"] {
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
  if (from !== undefined && isListingSource(from) && head.sources[from] === undefined) {
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

function renderManifest({ manifest }: ImportResult): string | undefined {
  if (manifest === undefined) return undefined;
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const verdict = validateManifest(text);
  if (verdict.ok) return text;
  const problems = verdict.problems.map((each) => `${each.pointer}: ${each.message}`);
  throw new UsageFault(`the manifest would not be valid:\n${problems.join("\n")}`);
}

function renderAnswer({
  result,
  source,
  out,
  text,
}: {
  readonly result: ImportResult;
  readonly source: SourceInput;
  readonly out: string;
  readonly text: string | undefined;
}): CommandAnswer {
  const { listed, staged, skipped, notes, manifest } = result;
  const ok = listed.length > 0;
  const { from, dated } = source;
  const toOutput = out === "-";
  const written = toOutput || text === undefined ? null : out;
  return {
    json: {
      ok,
      file: written,
      source: { from, dated, sha256: manifest?.catalog_source?.sha256 ?? null },
      listed,
      staged,
      skipped,
      notes,
      ...(toOutput && manifest !== undefined ? { manifest } : {}),
    },
    text:
      toOutput && text !== undefined
        ? text.trimEnd()
        : [
            ...notes.map(({ model, code, message }) => `${model}: ${code}: ${message}`),
            `${listed.length} listed, ${staged.length} staged, ${skipped.length} skipped` +
              (written === null ? "; nothing was written" : `; wrote ${written}`),
          ].join("\n"),
  };
}
