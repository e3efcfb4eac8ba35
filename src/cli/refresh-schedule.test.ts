import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { pino } from "pino";
import { beforeEach, expect, test, vi } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import { readRefreshState, writeRefreshState } from "../app/index.ts";
import { type Change, type ChangeLog, readRawJson } from "../kernel/index.ts";
import type { Manifest } from "../catalog/index.ts";
import { findHead, importListings, isImportable } from "../listing-tools/index.ts";
import type { SourceFile } from "./read-source-file.ts";
import { checkRefreshSettings, refreshNow, startRefreshes } from "./refresh-schedule.ts";

const NOW_MS = Date.parse("2026-11-28T12:00:00Z");
const LITELLM = "https://one.example/litellm.json";
const GENAI = "https://two.example/genai.json";

let folder: string;
let lists: Record<string, string>;
let noted: Change[];
beforeEach(() => {
  folder = newFolder("refresh");
  mkdirSync(join(folder, "manifests"));
  lists = {};
  noted = [];
});

function listsAt(usd: number): void {
  const entry = `"litellm_provider":"groq","mode":"chat","max_input_tokens":1000`;
  const prices = `"input_cost_per_token":${usd}e-06,"output_cost_per_token":${usd * 2}e-06`;
  lists[LITELLM] = `{"groq/acme-1":{${entry},${prices}}}`;
  const sheet = `{"input_mtok":${usd},"output_mtok":${usd * 2}}`;
  const match = `"match":{"equals":"acme-1"}`;
  lists[GENAI] = `[{"id":"groq","models":[{"id":"acme-1",${match},"prices":${sheet}}]}]`;
}

function sourceFile(text: string, dated: string): SourceFile {
  const reading = readRawJson(text, 10_000);
  if (!reading.ok) throw new Error("not JSON");
  return { bytes: Buffer.from(text), document: reading.value, dated };
}

async function read(named: string): Promise<SourceFile> {
  const text = named.startsWith("https:") ? lists[named] : readFileSync(named, "utf8");
  if (text === undefined) throw new Error("does not answer");
  const inName = /\d{4}-\d\d-\d\d/.exec(named)?.[0];
  return await Promise.resolve(sourceFile(text, inName ?? "2026-11-28"));
}

const path = (): string => join(folder, "manifests", "groq.json");

/** Writes the manifest that two price lists of October give, with an optional margin. */
function writeManifest(usd: number, margin?: string): void {
  listsAt(usd);
  const head = findHead("groq");
  if (head === undefined || !isImportable(head)) throw new Error("no head");
  const input = (from: "litellm" | "genai-prices", url: string) => {
    return { from, ...sourceFile(lists[url] ?? "", "2026-10-01") };
  };
  const { manifest } = importListings({
    head,
    source: input("litellm", LITELLM),
    against: [input("genai-prices", GENAI)],
    models: [],
    withCapacity: false,
    ...(margin === undefined ? {} : { margin }),
  });
  writeFileSync(path(), JSON.stringify(manifest));
}

function schedule() {
  const changeLog: Pick<ChangeLog, "write"> = {
    write: (_by, step) => step(undefined as never, (change: Change) => noted.push(change)),
  };
  return {
    config: {
      refreshEvery: "1d",
      refreshSources: `litellm=${LITELLM},genai-prices=${GENAI}`,
      manifestsDir: join(folder, "manifests"),
      dataDir: join(folder, "data"),
    },
    clock: { nowMs: () => NOW_MS, monotonicMs: () => 0 },
    log: pino({ level: "silent" }),
    changeLog,
    read,
  };
}

async function refreshed(): Promise<{ prompt: string; changes: readonly string[] }> {
  await refreshNow(schedule());
  const { models, listing_terms: terms } = JSON.parse(readFileSync(path(), "utf8")) as Manifest;
  const [model] = models;
  const price = model?.pricing.find(({ type }) => type === "prompt");
  const changes = terms?.["groq/acme-1"]?.price_changes ?? [];
  return { prompt: price?.cost_usd_per_million ?? "", changes: changes.map(({ from }) => from) };
}

test("a price cut in two sources begins at once and is in the change log", async () => {
  writeManifest(2);
  listsAt(1);
  expect(await refreshed()).toEqual({ prompt: "1", changes: [] });
  expect(noted).toMatchObject([{ action: "manifest.refresh", target: "groq" }]);
  const waits = ["groq was refreshed: 1 cheaper. The change log has the prices."];
  expect(readRefreshState(join(folder, "data"))).toEqual({ atMs: NOW_MS, waits });
});

test("a price rise that the margin covers is announced, and any other begins at once", async () => {
  writeManifest(10, "30");
  listsAt(11);
  expect(await refreshed()).toEqual({ prompt: "13", changes: ["2026-12-06T00:00:00Z"] });
  writeManifest(10);
  listsAt(11);
  // The rise begins at once: without a margin, customers would pay less than the provider is owed.
  expect(await refreshed()).toEqual({ prompt: "11", changes: [] });
});

test("a price rise above 20 percent waits, and the operator is told how to accept it", async () => {
  writeManifest(10);
  listsAt(13);
  expect(await refreshed()).toEqual({ prompt: "10", changes: [] });
  const owed = (): unknown => {
    const { listing_terms: terms } = JSON.parse(readFileSync(path(), "utf8")) as Manifest;
    return terms?.["groq/acme-1"]?.purchase_pricing?.[0]?.cost_usd_per_million;
  };
  expect(owed()).toBe("13");
  const [wait, ...more] = readRefreshState(join(folder, "data"))?.waits ?? [];
  expect(more).toEqual([]);
  expect(wait).toContain("groq/groq/acme-1 rises by more than 20 %");
  const sources = `--source litellm=${LITELLM} --source genai-prices=${GENAI}`;
  expect(wait).toContain(
    `tokenmarket manifest refresh ${path()} ${sources} --accept groq/acme-1 --write`,
  );
  // A second refresh changes nothing, because the rise has not been accepted.
  expect(await refreshed()).toEqual({ prompt: "10", changes: [] });
  expect([owed(), readRefreshState(join(folder, "data"))?.waits]).toEqual(["13", [wait]]);
});

test("one source alone changes nothing, but the kept copy of an unreachable source counts", async () => {
  writeManifest(2);
  listsAt(1);
  delete lists[GENAI];
  await expect(refreshNow(schedule())).rejects.toThrow("fewer than two sources");
  listsAt(1);
  await refreshNow(schedule());
  const kept = readdirSync(join(folder, "data", "catalog-sources")).toSorted();
  expect(kept).toEqual([
    "genai-prices-2026-11-28.json",
    "last-refresh.json",
    "litellm-2026-11-28.json",
  ]);
  writeManifest(2);
  listsAt(1);
  delete lists[GENAI];
  expect((await refreshed()).prompt).toBe("1");
});

test("scheduled refreshes need two source addresses, and are off without an interval", async () => {
  const { config, ...rest } = schedule();
  const one = { ...config, refreshSources: `litellm=${LITELLM}` };
  expect(() => checkRefreshSettings(one)).toThrow("two catalog.refresh_sources");
  expect(() => checkRefreshSettings({ ...one, refreshEvery: "" })).not.toThrow();
  await startRefreshes({ ...rest, config: { ...one, refreshEvery: "" } }).close();
});

test("an error answer does not replace the kept copy of a source, and a broken copy does not count", async () => {
  writeManifest(2);
  await refreshNow(schedule());
  const copies = join(folder, "data", "catalog-sources");
  listsAt(1);
  lists[LITELLM] = `{"error":"too many requests"}`;
  await refreshNow(schedule());
  expect(readFileSync(join(copies, "litellm-2026-11-28.json"), "utf8")).toContain("acme-1");
  delete lists[LITELLM];
  writeFileSync(join(copies, "litellm-2026-11-28.json"), `{"groq/ac`);
  await expect(refreshNow(schedule())).rejects.toThrow("fewer than two sources");
});

test("a refresh writes no manifest if one of them was edited meanwhile", async () => {
  writeManifest(2);
  const other = join(folder, "manifests", "xai.json");
  const text = readFileSync(path(), "utf8");
  writeFileSync(other, text.replaceAll("groq", "xai"));
  listsAt(1);
  const both = schedule();
  const changeLog: Pick<ChangeLog, "write"> = {
    write: async (by, step) => {
      // Somebody edits the second manifest just before the files are replaced.
      writeFileSync(other, "{}");
      return await both.changeLog.write(by, step);
    },
  };
  const [one = "", two = ""] = [LITELLM, GENAI].map((url) => lists[url]?.slice(1, -1));
  lists[LITELLM] = `{${one},${one.replaceAll("groq", "xai")}}`;
  lists[GENAI] = `[${two},${two.replaceAll("groq", "x-ai")}]`;
  await expect(refreshNow({ ...both, changeLog })).rejects.toThrow("was edited while");
  expect(readFileSync(path(), "utf8")).toBe(text);
  expect(readdirSync(join(folder, "manifests"))).toEqual(["groq.json", "xai.json"]);
});

test("a refresh runs when it is due, and not again before", async () => {
  writeManifest(2);
  listsAt(1);
  const state = (): number | undefined => readRefreshState(join(folder, "data"))?.atMs;
  const running = startRefreshes(schedule());
  await expect.poll(state).toBe(NOW_MS);
  await running.close();
  expect(noted).toHaveLength(1);
  listsAt(0.5);
  await startRefreshes(schedule()).close();
  expect(noted).toHaveLength(1);
});

test("a refresh does not wait for a time that a wrong clock stored", async () => {
  writeManifest(2);
  const data = join(folder, "data");
  writeRefreshState(data, { atMs: NOW_MS + 365 * 86_400_000, waits: [] });
  const running = startRefreshes(schedule());
  await expect.poll(() => readRefreshState(data)?.atMs).toBe(NOW_MS);
  await running.close();
});

test("a data folder that cannot be written fails the refresh, and the server keeps running", async () => {
  const errors = vi.fn<(line: string) => void>();
  const log = pino({ level: "error" }, { write: errors });
  writeFileSync(join(folder, "data"), "a file");
  const running = startRefreshes({ ...schedule(), log });
  await expect.poll(() => errors.mock.calls.length).toBe(2);
  expect(errors.mock.calls.join("")).toMatch(
    /the catalog could not be refreshed.*cannot show that the refresh failed/s,
  );
  await running.close();
});

test("a failed refresh is retried in an hour, and a shutdown does not wait for a slow source", async () => {
  const failing = startRefreshes(schedule());
  const data = join(folder, "data");
  const tryAgainMs = NOW_MS - 23 * 3_600_000;
  await expect.poll(() => readRefreshState(data)?.atMs).toBe(tryAgainMs);
  expect(readRefreshState(data)?.waits[0]).toContain("is tried again in an hour");
  await failing.close();
  rmSync(data, { recursive: true });
  const slow = async (_named: string, _dated: string | undefined, stopped?: AbortSignal) => {
    await once(stopped ?? new EventTarget(), "abort");
    throw new Error("cut off");
  };
  await startRefreshes({ ...schedule(), read: slow }).close();
  expect(readRefreshState(data)).toBeUndefined();
});
