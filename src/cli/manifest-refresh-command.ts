import { hash } from "node:crypto";
import type { Command } from "commander";

import { NoDatabaseFault } from "../app/index.ts";
import { type Manifest, validateManifest } from "../catalog/index.ts";
import { type Change, type ChangedBy, type ChangeLog, defined, isDay } from "../kernel/index.ts";
import {
  diffManifests,
  type PriceRules,
  type RefreshFinding,
  refreshManifest,
  findHead,
  importListings,
  isImportable,
  LISTING_SOURCES,
  listingHash,
  type ListingSource,
  type SourceInput,
} from "../listing-tools/index.ts";
import {
  answering,
  clock,
  collect,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  OPTIONS,
  pickTexts,
  readConfig,
  UsageFault,
} from "./command-context.ts";
import { describeRefresh, type RefreshedFile } from "./describe-difference.ts";
import { listManifestFiles, readManifestFile, type ReadManifest } from "./manifest-files.ts";
import { toValues } from "./manifest-init/init-flags.ts";
import { readSourceFile, splitSource } from "./read-source-file.ts";
import { type Replacement, replaceFiles } from "./replace-file.ts";
import { withBackend } from "./with-backend.ts";

export function addManifestRefreshCommand(manifest: Command, context: CommandContext): void {
  onStoredData(manifest.command("refresh [files...]"))
    .description(
      "import manifests again from what they were imported from, and merge it with what was edited; exit 1 when something waits for a decision",
    )
    .option(
      "--source <source=file>",
      `a file or https address of ${LISTING_SOURCES.join(", ")}; may be given again`,
      collect,
      [],
    )
    .option("--write", "replace the files; without it nothing is written")
    .option(
      "--effective <day>",
      "when changed prices begin: a UTC day, or now (default: rises in 7 days, cuts at once)",
    )
    .option("--max-rise <percent>", "a price that rises by more waits for --accept", "20")
    .option("--accept <model>", "take what waits of this model; may be given again", collect, [])
    .option(...OPTIONS.manifests)
    .action(answering(context, refresh));
}

async function refresh(
  context: CommandContext,
  named: readonly string[],
  flags: Flags,
): Promise<CommandAnswer> {
  const { effective, maxRise = "" } = pickTexts(flags);
  const rules = readPriceRules({ maxRise, ...defined({ effective }) }, clock.nowMs());
  const files =
    named.length > 0 ? named : listManifestFiles(readConfig(context, flags).manifestsDir);
  const read = files.map(readManifestFile);
  const accepted = acceptedModels(toValues(flags["accept"]), read);
  const sources = await readSources(toValues(flags["source"]), read);
  const refreshed = read.map((each) => refreshFile(each, { sources, rules, accepted }));
  const isWritten = flags["write"] === true;
  if (isWritten) await writeRecorded(context, flags, refreshed);
  const results = refreshed.map(({ result }) => result);
  const ok = results.every(isSettled);
  return {
    json: { ok, written: isWritten, manifests: results },
    text: describeRefresh(results, isWritten).join("\n"),
  };
}

/** Without a database, only writes the files; a gateway that reads them records the prices. */
async function writeRecorded(
  context: CommandContext,
  flags: Flags,
  refreshed: readonly RefreshOutcome[],
): Promise<void> {
  const changed = refreshed.flatMap(({ writing }) => writing ?? []);
  if (changed.length === 0) return;
  try {
    await withBackend(context, flags, ({ changeLog }, by) => writeChanges(changeLog, by, changed));
  } catch (fault) {
    if (!(fault instanceof NoDatabaseFault)) throw fault;
    replaceFiles(changed);
  }
}

/** Replaces the files before the log commits, so that a failed replacement leaves no log entry. */
export async function writeChanges(
  changeLog: Pick<ChangeLog, "write">,
  by: ChangedBy,
  changed: readonly Writing[],
): Promise<void> {
  await changeLog.write(by, async (_, note) => {
    for (const { change } of changed) note(change);
    replaceFiles(changed);
  });
}

function isSettled({ state, findings }: RefreshedFile): boolean {
  const isDone = state === "changed" || state === "unchanged" || state === "no_source";
  return isDone && !findings.some(needsDecision);
}

export function needsDecision({ kind, prices }: RefreshFinding): boolean {
  if (kind.endsWith("_waits")) return true;
  // The source's price is above the edited price, so the provider may be owed more than customers
  // pay.
  return kind === "edited" && prices.some(({ percent }) => percent?.startsWith("+") ?? true);
}

function acceptedModels(
  models: readonly string[],
  manifests: readonly ReadManifest[],
): ReadonlySet<string> {
  const known = new Set(manifests.flatMap(({ manifest }) => manifest.models.map(({ id }) => id)));
  const unknown = models.filter((id) => !known.has(id));
  if (unknown.length > 0) {
    throw new UsageFault(`--accept ${unknown.join(", ")}: none of the manifests lists this model`);
  }
  return new Set(models);
}

type Sources = ReadonlyMap<ListingSource, SourceInput>;

async function readSources(
  named: readonly string[],
  manifests: readonly ReadManifest[],
): Promise<Sources> {
  const given = new Map(named.map((each) => splitSource(each, "--source")));
  const needed = new Set(manifests.flatMap(({ manifest }) => listSources(manifest)));
  const missing = [...needed].filter((from) => !given.has(from));
  if (missing.length > 0) {
    const flags = missing.map((from) => `--source ${from}=FILE`).join(" ");
    throw new UsageFault(`give what these manifests were imported from: ${flags}`);
  }
  const sources = new Map<ListingSource, SourceInput>();
  for (const [from, file] of given) {
    if (needed.has(from)) sources.set(from, { from, ...(await readSourceFile(file, undefined)) });
  }
  return sources;
}

function listSources({ catalog_source: source }: Manifest): readonly ListingSource[] {
  return source === undefined
    ? []
    : [source.from, ...(source.against ?? []).map(({ from }) => from)];
}

interface Refreshing {
  readonly sources: Sources;
  /** The number of sources that must list the provider. Default: 1. */
  readonly leastSources?: number;
  readonly rules: PriceRules;
  readonly accepted: ReadonlySet<string>;
}

type Writing = Replacement & { readonly change: Change };

export interface RefreshOutcome {
  readonly result: RefreshedFile;
  /** Undefined if there is nothing to write. */
  readonly writing?: Writing;
}

export function refreshFile(read: ReadManifest, refreshing: Refreshing): RefreshOutcome {
  const { file, manifest } = read;
  const base = { file, provider: manifest.provider.id, findings: [] };
  const { catalog_source: recorded } = manifest;
  if (recorded === undefined) return { result: { ...base, state: "no_source" } };
  const again = importAgain({ ...manifest, catalog_source: recorded }, refreshing);
  if (again.kind !== "imported") {
    return { result: { ...base, state: again.kind, detail: again.detail } };
  }
  const { rules, accepted } = refreshing;
  const merged = refreshManifest({
    current: { ...manifest, catalog_source: recorded },
    imported: again.manifest,
    unsettled: again.unsettled,
    rules,
    accepted,
  });
  const { findings } = merged;
  const text = `${JSON.stringify(merged.manifest, undefined, 2)}\n`;
  const verdict = validateManifest(text);
  if (!verdict.ok) {
    const [problem] = verdict.problems;
    const detail = `${problem?.pointer ?? ""}: ${problem?.message ?? "not valid"}`;
    return { result: { ...base, state: "invalid", detail, findings } };
  }
  const difference = diffManifests(manifest, verdict.manifest, rules.nowMs);
  const state = merged.isUnchanged ? "unchanged" : "changed";
  const result: RefreshedFile = { ...base, state, difference, findings };
  if (merged.isUnchanged) return { result };
  const change: Change = {
    action: "manifest.refresh",
    orgId: null,
    target: base.provider,
    before: { manifest_sha256: hash("sha256", read.text) },
    after: { manifest_sha256: hash("sha256", text) },
  };
  return { result, writing: { change, read, text } };
}

type Sourced = Manifest & { readonly catalog_source: NonNullable<Manifest["catalog_source"]> };

type Again =
  | {
      readonly kind: "imported";
      readonly manifest: Sourced;
      readonly unsettled: ReadonlySet<string>;
    }
  | { readonly kind: "no_head" | "older_source" | "lists_nothing"; readonly detail: string };

function importAgain(manifest: Sourced, { sources, leastSources = 1 }: Refreshing): Again {
  const { catalog_source: recorded, provider } = manifest;
  const head = findHead(provider.id);
  if (head === undefined || !isImportable(head)) {
    const detail = "no head of this provider is known; import it again with --head";
    return { kind: "no_head", detail };
  }
  const recordedFiles = [recorded, ...(recorded.against ?? [])];
  // If several sources must agree, all given sources are used, not only those named in the
  // manifest.
  const added = leastSources > 1 ? [...sources.keys()] : [];
  const order = new Set([...recordedFiles.map(({ from }) => from), ...added]);
  const files = [...order].flatMap((from): readonly SourceInput[] => {
    const source = sources.get(from);
    if (source === undefined || head.sources[from] === undefined) return [];
    const sha256 = hash("sha256", source.bytes);
    // If the manifest already records a source with the same bytes, the day recorded there is used,
    // even if the file's name has another day.
    const same = recordedFiles.find((each) => each.from === from && each.sha256 === sha256);
    return [same === undefined ? source : { ...source, dated: same.dated }];
  });
  const [source, ...against] = files;
  if (source === undefined || files.length < leastSources) {
    const detail = `${files.length} of the sources have a list of ${provider.id}, and ${leastSources} have to agree`;
    return { kind: "lists_nothing", detail };
  }
  if (source.dated < recorded.dated) {
    const detail = `the source is of ${source.dated}, what was imported of ${recorded.dated}`;
    return { kind: "older_source", detail };
  }
  const { models = [], margin_percent: margin } = recorded;
  const withCapacity = hasImportedCapacity(manifest);
  const input = { head, source, against, models, withCapacity, ...defined({ margin }) };
  const { manifest: imported, unsettled } = importListings(input);
  if (imported?.catalog_source === undefined) {
    return { kind: "lists_nothing", detail: `${source.from} has no listing of ${provider.id}` };
  }
  const again = { ...imported, catalog_source: imported.catalog_source };
  return { kind: "imported", manifest: again, unsettled: new Set(unsettled) };
}

/** True if an unedited listing has rate limits, which then come from an earlier import. */
function hasImportedCapacity({ models, listing_terms: terms, catalog_source }: Sourced): boolean {
  return models.some((model) => {
    if (model.capacity === undefined || !Object.hasOwn(catalog_source.imported, model.id)) {
      return false;
    }
    const own = terms !== undefined && Object.hasOwn(terms, model.id) ? terms[model.id] : undefined;
    return listingHash(model, own) === catalog_source.imported[model.id];
  });
}

const DAY_MS = 86_400_000;
/** Notice of a price rise, unless the operator names a day or the old price is below cost. */
const RISE_NOTICE_DAYS = 7;
const EFFECTIVE_DAYS_MAX = 366;

export function readPriceRules(
  flags: { readonly effective?: string; readonly maxRise: string },
  nowMs: number,
): PriceRules {
  const effectiveMs = readEffective(flags.effective, nowMs);
  return {
    nowMs,
    // The first UTC midnight that is at least seven days away.
    riseFromMs: Math.ceil(nowMs / DAY_MS + RISE_NOTICE_DAYS) * DAY_MS,
    riseMax: readPercent(flags.maxRise),
    ...(effectiveMs === undefined ? {} : { effectiveMs }),
  };
}

function readEffective(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (text === "now") return nowMs;
  if (!isDay(text)) throw new UsageFault(`--effective must be a UTC day or now, not ${text}`);
  const dayMs = Date.parse(text);
  if (dayMs <= nowMs) throw new UsageFault(`--effective ${text} is past; name a later day, or now`);
  if (dayMs > nowMs + EFFECTIVE_DAYS_MAX * DAY_MS) {
    throw new UsageFault(`--effective ${text} is over ${EFFECTIVE_DAYS_MAX} days away`);
  }
  return dayMs;
}

const FRACTION_DIGITS = 6;

function readPercent(text: string): bigint {
  const [, whole = "", fraction = ""] = /^(\d{1,4})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole !== "") return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
  throw new UsageFault(`--max-rise must be a percentage such as 20 or 7.5, not ${text}`);
}
