import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";

import { CatalogHolder } from "../catalog/index.ts";
import { edited, type Edits, textManifest } from "../../test/fixtures/manifest/samples.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { loadConfig } from "../kernel/config/load-config.ts";
import { SettingsInForce } from "../kernel/config/settings-in-force.ts";
import { systemClock } from "../kernel/core/time.ts";
import { EventCounts } from "./event-counts.ts";
import { type CatalogOptions, firstCatalog } from "./open-catalog.ts";
import { Reloads, readFileState, watchState } from "./reloads.ts";

const WAIT = { timeout: 10_000 };

/** Reloads over one manifest that `write` replaces. */
async function openReloads() {
  const manifestsDir = newFolder("reload");
  const write = (edits: Edits, indent?: number): void => {
    const text = JSON.stringify(edited(textManifest(), edits), null, indent);
    writeFileSync(join(manifestsDir, "one.json"), text);
  };
  write({ "/provider/name": "before" });
  const outcome = loadConfig({ flags: { manifestsDir }, env: {} });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
  const { config } = outcome;
  const ensurePricePins = vi.fn<() => Promise<void>>().mockResolvedValue(undefined);
  const options = {
    config,
    env: {},
    clock: systemClock,
    log: pino({ level: "silent" }),
    backend: { ledgerBatchStore: { ensurePricePins } },
  } as unknown as CatalogOptions;
  const first = await firstCatalog(options);
  const holder = new CatalogHolder(first.catalog);
  const reloads = new Reloads({
    options,
    events: new EventCounts(),
    inForce: new SettingsInForce(config),
    holder,
    keyOwners: first.keyOwners,
  });
  onTestFinished(() => reloads.close());
  return { reloads, holder, write, ensurePricePins };
}

test("a catalog whose prices could not be stored is tried again though no file changes", async () => {
  const { reloads, holder, write, ensurePricePins } = await openReloads();
  const first = holder.current;
  ensurePricePins.mockRejectedValueOnce(new Error("the database is away"));
  write({ "/provider/name": "after" });
  reloads.watch();
  await vi.waitFor(() => expect(ensurePricePins).toHaveBeenCalledTimes(2), WAIT);
  expect(holder.current).toBe(first);
  await vi.waitFor(() => expect(holder.current).not.toBe(first), WAIT);
});

test("a manifest whose bytes changed but not its content is in use with its new hash", async () => {
  const { reloads, holder, write } = await openReloads();
  const { buildId, deployments } = holder.current;
  write({ "/provider/name": "before" }, 2);
  reloads.all();
  await vi.waitFor(() => {
    expect(holder.current.deployments[0]?.manifestSha256).not.toBe(deployments[0]?.manifestSha256);
  }, WAIT);
  expect(holder.current.buildId).toBe(buildId);
});

test("a file that is changed, relinked, deleted or created is noticed, also in a watched folder", async () => {
  const folder = newFolder("watch");
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  for (const name of ["old", "new"]) writeFileSync(join(folder, name), name);
  writeFileSync(file, "first");
  symlinkSync(join(folder, "old"), link);
  const manifests = join(folder, "manifests");
  const changed = vi.fn<() => void>();
  onTestFinished(
    watchState(() => readFileState([file, link, join(folder, "later"), manifests]), changed, 5),
  );
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), WAIT);
  const steps: readonly (() => void)[] = [
    () => writeFileSync(file, "other"),
    () => {
      symlinkSync(join(folder, "new"), join(folder, "next"));
      renameSync(join(folder, "next"), link);
    },
    () => rmSync(file),
    () => writeFileSync(join(folder, "later"), "made"),
    () => mkdirSync(manifests),
    () => writeFileSync(join(manifests, "a.json"), "{}"),
    () => writeFileSync(join(manifests, "a.json"), "[]"),
  ];
  for (const [at, step] of steps.entries()) {
    step();
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(at + 2), WAIT);
  }
});
