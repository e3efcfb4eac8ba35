import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

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
import { listManifestFiles, readManifestFile } from "./manifest-files.ts";
import {
  needsDecision,
  refreshFile,
  type RefreshOutcome,
  readPriceRules,
  writeChanges,
} from "./manifest-refresh-command.ts";
import { shellWord } from "./manifest-init/init-flags.ts";
import { readSourceFile, type SourceFile } from "./read-source-file.ts";
import { writeWhole } from "./replace-file.ts";

export interface RefreshSchedule {
  readonly config: Pick<Config, "refreshEvery" | "refreshSources" | "manifestsDir" | "dataDir">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changeLog: Pick<ChangeLog, "write">;
  readonly read?: typeof readSourceFile;
}

const HOUR_MS = 3_600_000;
const LOOK_EVERY_MS = 60_000;
const SOURCES_LEAST = 2;
const MAX_RISE_PERCENT = "20";

export function checkRefreshSettings(
  config: Pick<Config, "refreshEvery" | "refreshSources">,
): void {
  if (refreshHours(config.refreshEvery) === undefined) return;
  if (listAddresses(config).length < SOURCES_LEAST) {
    throw new UsageFault("catalog.refresh_every needs two catalog.refresh_sources that can agree");
  }
}

/** Does nothing if no schedule is set. */
export function startRefreshes(schedule: RefreshSchedule): { close(): Promise<void> } {
  const hours = refreshHours(schedule.config.refreshEvery);
  if (hours === undefined) return { close: () => Promise.resolve() };
  const { clock, config, log } = schedule;
  const stop = new AbortController();
  let last = Promise.resolve();
  let isBusy = false;
  let tryAgainMs = -Infinity;
  const look = (): void => {
    const nowMs = clock.nowMs();
    const everyMs = hours * HOUR_MS;
    const lastMs = readRefreshState(config.dataDir)?.atMs ?? -Infinity;
    // A time more than an interval ahead was stored while the clock was ahead.
    const isAhead = (dueMs: number): boolean => nowMs < dueMs && dueMs <= nowMs + everyMs;
    if (isBusy || isAhead(lastMs + everyMs) || isAhead(tryAgainMs)) return;
    isBusy = true;
    last = refreshNow(schedule, stop.signal)
      .catch((fault: unknown) => {
        if (stop.signal.aborted) return;
        log.error({ err: fault }, "the catalog could not be refreshed");
        tryAgainMs = clock.nowMs() + HOUR_MS;
        const text = cutText(String(fault));
        const waits = [`The last refresh failed, and is tried again in an hour: ${text}`];
        writeRefreshState(config.dataDir, { atMs: tryAgainMs - hours * HOUR_MS, waits });
      })
      .catch((fault: unknown) => {
        // Writing the state fails, too, if the data folder is what made the refresh fail.
        log.error({ err: fault }, "the operator's pages cannot show that the refresh failed");
      })
      .finally(() => (isBusy = false));
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  look();
  return {
    close: async () => {
      clearInterval(timer);
      stop.abort();
      await last;
    },
  };
}

/** Refreshes every imported manifest. Changes that need a person's decision are left out. */
export async function refreshNow(schedule: RefreshSchedule, stopped?: AbortSignal): Promise<void> {
  const { config, clock, log, changeLog } = schedule;
  const sources = new Map<ListingSource, SourceInput>();
  for (const [from, url] of listAddresses(config)) {
    const file = await readKept(schedule, from, url, stopped);
    if (file !== undefined) sources.set(from, { from, ...file });
  }
  if (sources.size < SOURCES_LEAST) throw new UsageFault("fewer than two sources could be read");
  const nowMs = clock.nowMs();
  const rules = {
    ...readPriceRules({ maxRise: MAX_RISE_PERCENT }, nowMs),
    neverBelowCost: true,
  } as const;
  const refreshing = { sources, leastSources: SOURCES_LEAST, rules, accepted: new Set<string>() };
  const outcomes: RefreshOutcome[] = [];
  for (const file of listManifestFiles(config.manifestsDir)) {
    // The pause lets the server answer requests between two manifests.
    await nextTurn();
    stopped?.throwIfAborted();
    const read = readManifestFile(file);
    if (read.manifest.catalog_source !== undefined) outcomes.push(refreshFile(read, refreshing));
  }
  const changed = outcomes.flatMap(({ writing }) => writing ?? []);
  if (changed.length > 0) await writeChanges(changeLog, byGateway("catalog refresh"), changed);
  const addresses = listAddresses(config).map(
    ([from, url]) => `--source ${shellWord(`${from}=${url}`)}`,
  );
  const waits = outcomes.flatMap((each) => [
    ...summarizeNews(each),
    ...listWaiting(each, addresses.join(" ")),
  ]);
  writeRefreshState(config.dataDir, { atMs: nowMs, waits });
  const providers = changed.map(({ change }) => change.target);
  log.info({ changed: providers, waits: waits.length }, "the catalog was refreshed");
}

function listAddresses({ refreshSources }: Pick<Config, "refreshSources">) {
  return [...(readPairList(refreshSources) ?? [])].flatMap(([from, url]) =>
    isListingSource(from) ? [[from, url] as const] : [],
  );
}

/** Reads the price list at `url` and stores a copy. If that fails, reads the last copy. */
async function readKept(
  { config, log, read = readSourceFile }: RefreshSchedule,
  from: ListingSource,
  url: string,
  stopped: AbortSignal | undefined,
): Promise<SourceFile | undefined> {
  const folder = sourcesFolder(config.dataDir);
  mkdirSync(folder, { recursive: true });
  const kept = readdirSync(folder).filter(
    (name) => name.startsWith(`${from}-`) && name.endsWith(".json"),
  );
  const last = kept.toSorted().at(-1);
  try {
    const file = await read(url, undefined, stopped);
    // The response can be an error page in JSON, which is much smaller than the price list.
    if (last !== undefined && file.bytes.length * 2 < statSync(join(folder, last)).size) {
      throw new UsageFault(`${url}: has less than half of ${last}; remove that copy to take it`);
    }
    const name = `${from}-${file.dated}.json`;
    writeWhole(join(folder, name), file.bytes);
    for (const old of kept) if (old !== name) rmSync(join(folder, old), { force: true });
    return file;
  } catch (fault) {
    stopped?.throwIfAborted();
    log.warn({ err: fault, source: from, copy: last }, "a source of the catalog does not answer");
    if (last === undefined) return undefined;
    return await read(join(folder, last), undefined).catch((broken: unknown) => {
      log.warn({ err: broken, source: from, copy: last }, "the last copy of a source is broken");
      return undefined;
    });
  }
}

function summarizeNews({ result }: RefreshOutcome): readonly string[] {
  const { provider, difference, findings } = result;
  const { cheaper = 0, dearer = 0, added = 0 } = difference?.counts ?? {};
  const ending = findings.filter(({ kind }) => kind === "gone").length;
  const said = Object.entries({ cheaper, dearer, added, "ending in 14 days": ending })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
  if (said.length === 0) return [];
  return [`${provider} was refreshed: ${said.join(", ")}. The change log has the prices.`];
}

const WAITS_SAY: Readonly<Record<string, string>> = {
  rise_waits: `rises by more than ${MAX_RISE_PERCENT} %, and is sold for less than is owed where no margin covers it`,
  staging_waits: "is not confirmed by two sources any more",
  going_waits: "is gone from the sources, with half of the manifest",
  edited: "was edited, and the sources say that it costs more",
};

function listWaiting({ result }: RefreshOutcome, sources: string): readonly string[] {
  const { file, provider, state, detail, findings } = result;
  if (state !== "changed" && state !== "unchanged") {
    return [`${file} was not refreshed: ${cutText(detail ?? state)}`];
  }
  return findings.filter(needsDecision).map(
    ({ model, kind }) =>
      `${provider}/${cutText(model)} ${WAITS_SAY[kind] ?? kind}: its price is as it was. ` +
      (kind === "edited"
        ? // A refresh never changes an edited listing, not even one that `--accept` names.
          `Edit it in ${file}.`
        : `\`tokenmarket manifest refresh ${shellWord(file)} ${sources} --accept ${cutText(model)} --write\` takes it.`),
  );
}
