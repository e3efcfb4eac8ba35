import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { decisionsManifest, edited, type Json } from "../../test/fixtures/manifest/samples.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { systemClock } from "../kernel/core/time.ts";
import { loadCatalog } from "./load-catalog.ts";

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

test("the example file of decision pools declares five, and every listing is in one of them", () => {
  const sources = { manifestsDir: folder, env: {}, clock: systemClock, poolsFile: EXAMPLE };
  const loaded = loadCatalog({ ...sources, allowPrivateUpstreams: true });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.issues));
  const { catalog, notes } = loaded;
  expect(new Set(catalog.deployments.map(({ pool }) => pool.id))).toEqual(
    new Set(["one", "two", "three", "four", "five"].map((name) => `decisions-${name}`)),
  );
  expect(notes).toEqual([]);
});

function manifestText(provider: string, models: readonly string[]): string {
  const price = (type: string): Json => ({ type, unit: "token", cost_usd_per_million: "1" });
  const listings = models.map((id): Json => {
    const pricing = [price("prompt"), price("completion")];
    return { id, output_modality: "decisions", context_length: 8_000, pricing };
  });
  const edits = { "/provider/id": provider, "/models": listings };
  return JSON.stringify(edited(decisionsManifest(), edits));
}
