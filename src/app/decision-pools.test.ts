import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { decisionsManifest, edited, type Json } from "../../test/fixtures/manifest/samples.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { systemClock } from "../kernel/core/time.ts";
import { loadCatalog, type LoadedCatalog } from "./load-catalog.ts";

const EXAMPLE = resolve(import.meta.dirname, "../../examples/pools/decision-pools.yaml");

/** The listings that the example assumes, by provider. No real installation has these names. */
const LISTED: Readonly<Record<string, readonly string[]>> = {
  "example-one": ["small-judge"],
  "example-two": ["judge"],
  "example-three": ["judge", "tagger"],
  "example-four": ["judge", "judge-mini"],
  "example-five": ["judge"],
};

const folder = newFolder("manifests");
for (const [provider, models] of Object.entries(LISTED)) {
  writeFileSync(join(folder, `${provider}.json`), manifestText(provider, models));
}

describe("the example file of decision pools", () => {
  test("declares five pools, and every listing is in one of them", () => {
    const { deployments } = load().catalog;
    expect(new Set(deployments.map(({ pool }) => pool.id))).toEqual(
      new Set(["one", "two", "three", "four", "five"].map((name) => `decisions-${name}`)),
    );
    expect(load().notes).toEqual([]);
  });

  test("is harmless to an installation without its listings: each is noted as unknown", () => {
    const { notes } = load(resolve(import.meta.dirname, "../../manifests"));
    const unknown = notes.filter(({ reason }) => reason === "unknown_listing");
    expect(unknown.map(({ deploymentId }) => deploymentId).toSorted()).toEqual(
      Object.entries(LISTED)
        .flatMap(([provider, models]) => models.map((model) => `${provider}/${model}`))
        .toSorted(),
    );
  });
});

test("a pool file changes the build id, and an empty pools_file does not", () => {
  const without = loadCatalog(sources(folder));
  const empty = loadCatalog({ ...sources(folder), poolsFile: "" });
  const build = (loaded: LoadedCatalog): string => (loaded.ok ? loaded.catalog.buildId : "none");
  expect(build(without)).toBe(build(empty));
  expect(build(load())).not.toBe(build(without));
});

function sources(manifestsDir: string): Parameters<typeof loadCatalog>[0] {
  return { manifestsDir, env: {}, clock: systemClock, allowPrivateUpstreams: true };
}

function load(manifestsDir: string = folder): LoadedCatalog & { readonly ok: true } {
  const loaded = loadCatalog({ ...sources(manifestsDir), poolsFile: EXAMPLE });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.issues));
  return loaded;
}

function manifestText(provider: string, models: readonly string[]): string {
  const price = (type: string): Json => ({ type, unit: "token", cost_usd_per_million: "1" });
  const listings = models.map((id): Json => {
    const pricing = [price("prompt"), price("completion")];
    return { id, output_modality: "decisions", context_length: 8_000, pricing };
  });
  const edits = { "/provider/id": provider, "/models": listings };
  return JSON.stringify(edited(decisionsManifest(), edits));
}
