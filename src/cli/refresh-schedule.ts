import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";

import { readRefreshState, sourcesFolder, writeRefreshState } from "../app/index.ts";
import {
  byGateway,
  type ChangeLog,
  type Config,
  readPairList,
  refreshHours,
  type Clock,
  cutText,
} from "../kernel/index.ts";
import { isListingSource, type ListingSource, type SourceInput } from "../listing-tools/index.ts";
import { UsageFault } from "./command-context.ts";
import { manifestFilesOf, readManifestFile } from "./manifest-files.ts";
import {
  needsDecision,
  refreshFile,
  type RefreshOutcome,
  readPriceRules,
} from "./manifest-refresh-command.ts";
import { readSourceFile, type SourceFile } from "./read-source-file.ts";

export interface RefreshSchedule {
  readonly config: Pick<Config, "refreshEvery" | "refreshSources" | "manifestsDir" | "dataDir">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changeLog: Pick<ChangeLog, "write">;
  /** Reads a file or an https address. */
  readonly read?: (named: string, dated: undefined) => Promise<SourceFile>;
}

const HOUR_MS = 3_600_000;
const LOOK_EVERY_MS = 60_000;
const SOURCES_LEAST = 2;
const MAX_RISE_PERCENT = "20";

/** Refreshes the manifests when it is time, until it is closed. Nothing where none is configured. */
export function startRefreshes(schedule: RefreshSchedule): { close(): Promise<void> } {
  const hours = refreshHours(schedule.config.refreshEvery);
  if (hours === undefined) return { close: () => Promise.resolve() };
  if (addressesOf(schedule).length < SOURCES_LEAST) {
    throw new UsageFault("catalog.refresh_every needs two catalog.refresh_sources that can agree");
  }
  let last = Promise.resolve();
  let isBusy = false;
  const look = (): void => {
    const { clock, config, log } = schedule;
    const lastMs = readRefreshState(config.dataDir)?.atMs ?? -Infinity;
    if (isBusy || clock.nowMs() < lastMs + hours * HOUR_MS) return;
    isBusy = true;
    last = refreshNow(schedule)
      .catch((fault: unknown) => {
        log.error({ err: fault }, "the catalog could not be refreshed");
        const waits = [`The last refresh failed: ${cutText(String(fault))}`];
        writeRefreshState(config.dataDir, { atMs: clock.nowMs(), waits });
      })
      .finally(() => (isBusy = false));
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  look();
  return {
    close: async () => {
      clearInterval(timer);
      await last;
    },
  };
}

/** Imports every manifest again that was imported; what a person has to decide stays as it is. */
export async function refreshNow(schedule: RefreshSchedule): Promise<void> {
  const { config, clock, log, changeLog } = schedule;
  const sources = new Map<ListingSource, SourceInput>();
  for (const [from, url] of addressesOf(schedule)) {
    const file = await readKept(schedule, from, url);
    if (file !== undefined) sources.set(from, { from, ...file });
  }
  if (sources.size < SOURCES_LEAST) throw new UsageFault("fewer than two sources could be read");
  const nowMs = clock.nowMs();
  const rules = {
    ...readPriceRules({ maxRise: MAX_RISE_PERCENT }, nowMs),
    neverBelowCost: true,
  } as const;
  const read = manifestFilesOf(config.manifestsDir).map(readManifestFile);
  const outcomes = read
    .filter(({ manifest }) => manifest.catalog_source !== undefined)
    .map((each) =>
      refreshFile(each, { sources, leastSources: SOURCES_LEAST, rules, accepted: new Set() }),
    );
  const changed = outcomes.flatMap(({ writing }) => writing ?? []);
  if (changed.length > 0) {
    await changeLog.write(byGateway("catalog refresh"), (_, note) => {
      for (const { change } of changed) note(change);
      for (const { write } of changed) write();
      return Promise.resolve();
    });
  }
  const waits = outcomes.flatMap(waitsOf);
  writeRefreshState(config.dataDir, { atMs: nowMs, waits });
  const providers = changed.map(({ change }) => change.target);
  log.info({ changed: providers, waits: waits.length }, "the catalog was refreshed");
}

function addressesOf({ config }: RefreshSchedule): readonly (readonly [ListingSource, string])[] {
  return [...(readPairList(config.refreshSources) ?? [])].flatMap(([from, url]) =>
    isListingSource(from) ? [[from, url] as const] : [],
  );
}

/** The list at an address, of which a copy is kept; the last copy where it does not answer. */
async function readKept(
  { config, log, read = readSourceFile }: RefreshSchedule,
  from: ListingSource,
  url: string,
): Promise<SourceFile | undefined> {
  const folder = sourcesFolder(config.dataDir);
  mkdirSync(folder, { recursive: true });
  const kept = readdirSync(folder).filter(
    (name) => name.startsWith(`${from}-`) && name.endsWith(".json"),
  );
  try {
    const file = await read(url, undefined);
    const name = `${from}-${file.dated}.json`;
    writeFileSync(join(folder, `${name}.new`), file.bytes);
    renameSync(join(folder, `${name}.new`), join(folder, name));
    for (const old of kept) if (old !== name) rmSync(join(folder, old), { force: true });
    return file;
  } catch (fault) {
    const copy = kept.toSorted().at(-1);
    log.warn({ err: fault, source: from, copy }, "a source of the catalog does not answer");
    return copy === undefined ? undefined : await read(join(folder, copy), undefined);
  }
}

const WAITS_SAY: Readonly<Record<string, string>> = {
  rise_waits: `rises by more than ${MAX_RISE_PERCENT} %`,
  staging_waits: "is not confirmed by two sources any more",
  going_waits: "is gone from the sources, with half of the manifest",
  edited: "was edited, and the sources say that it costs more",
};

function waitsOf({ result }: RefreshOutcome): readonly string[] {
  const { file, provider, state, detail, findings } = result;
  if (state !== "changed" && state !== "unchanged") {
    return [`${file} was not refreshed: ${cutText(detail ?? state)}`];
  }
  return findings
    .filter(needsDecision)
    .map(
      ({ model, kind }) =>
        `${provider}/${cutText(model)} ${WAITS_SAY[kind] ?? kind}: nothing was changed. ` +
        `\`tokenmarket manifest refresh --accept ${cutText(model)}\` takes it.`,
    );
}
