import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { readReview } from "../scripts/catalog/draft.ts";
import { staleCatalogFiles } from "../scripts/draft-catalog.ts";
import { compileCatalog } from "../src/catalog/compile-catalog.ts";
import { parseManifestFiles } from "../src/catalog/catalog-input.ts";
import { type Manifest, validateManifest } from "../src/catalog/manifest/index.ts";
import { isPrivateAddress } from "../src/upstream/address-guard.ts";
import { listingHash } from "../src/listing-tools/listing-sources/ids.ts";
import { sendAcross } from "./fixtures/modality/request-kit.ts";
import { findHead } from "../src/listing-tools/listing-sources/provider-heads.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = readdirSync(join(root, "manifests"))
  .filter((file) => file.endsWith(".json") && !file.startsWith("simulator-"))
  .map((file) => ({ file, text: readFileSync(join(root, "manifests", file), "utf8") }));
const review = readReview(root);
const newest = join(root, "test/listing-sources/snapshots/litellm-2026-11-01.json");
const list = JSON.parse(readFileSync(newest, "utf8")) as Record<
  string,
  { readonly deprecation_date?: string }
>;
const ends = new Map(
  Object.entries(list).map(([name, { deprecation_date: day }]) => [name, day ?? "9999"]),
);

function manifestOf(text: string): Manifest {
  const verdict = validateManifest(text);
  if (!verdict.ok) throw new Error(JSON.stringify(verdict.problems));
  return verdict.manifest;
}

describe("the shipped manifests", () => {
  const shipped = files.map(({ file, text }) => {
    const manifest = manifestOf(text);
    return { file, manifest, terms: manifest.listing_terms ?? {} };
  });
  const parsed = parseManifestFiles(files);
  const manifests = parsed.ok ? parsed.manifests : [];

  test("cover every provider of the first release", () => {
    const ids = shipped.map(({ manifest }) => manifest.provider.id);
    const wanted =
      "anthropic cerebras cohere deepinfra deepseek deepseek-messages fireworks google groq " +
      "minimax mistral moonshot openai openrouter perplexity qwen together xai zai";
    expect(ids.toSorted().join(" ")).toBe(wanted);
    expect(files.map(({ file }) => file)).toEqual(ids.map((id) => `${id}.json`));
  });

  test("have the same bytes when they are drafted again from the snapshots and the review", async () => {
    expect(await staleCatalogFiles(root)).toEqual([]);
  });

  test.each([
    ["claude-opus-4.5", "max", "high"],
    ["claude-sonnet-4.6", "xhigh", "high"],
    ["claude-opus-5", "xhigh", "xhigh"],
    ["claude-haiku-4.5", "high", undefined],
  ])("pass the effort of a chat completion on to %s, where it takes one", (name, asked, sent) => {
    const outcome = compileCatalog({ manifests, hasKey: () => true, today: review.as_of });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
    const { deployments } = outcome.catalog;
    const claude = deployments.find(({ id }) => id === `anthropic/anthropic/${name}`);
    if (claude === undefined) throw new Error(`${name} is not listed`);
    const { body, dropped } = sendAcross("wire_a", { reasoning_effort: asked }, claude);
    expect(body["output_config"]).toEqual(sent && { effort: sent });
    expect(dropped).toEqual(sent === undefined ? ["reasoning_effort"] : []);
  });

  test("compile together without an issue when every key is set", () => {
    expect(parsed).toMatchObject({ ok: true });
    const outcome = compileCatalog({ manifests, hasKey: () => true, today: review.as_of });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
    expect(outcome.notes.filter(({ reason }) => reason !== "staged")).toEqual([]);
    const ready = manifests.flatMap(({ manifest }) =>
      manifest.models.filter((model) => model.is_ready !== false),
    );
    const routed = outcome.catalog.deployments.filter(({ notReady }) => notReady === undefined);
    expect(routed).toHaveLength(ready.length);
    expect(ready.length).toBeGreaterThan(130);
  });

  test("use public https addresses and a key variable whose name ends with _API_KEY", () => {
    for (const { file, manifest } of shipped) {
      const url = new URL(manifest.endpoint.base_url);
      expect({ file, protocol: url.protocol }).toEqual({ file, protocol: "https:" });
      expect(isPrivateAddress(url.hostname), file).toBe(false);
      expect(url.hostname, file).toMatch(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/);
      expect(manifest.endpoint.api_key_env, file).toMatch(/_API_KEY$/);
    }
  });

  test("have no deprecated model and no past price change on the day of the review", () => {
    for (const { file, manifest, terms } of shipped) {
      const prefixes = ["", `${findHead(manifest.provider.id)?.sources.litellm}/`];
      const ended = manifest.models.filter(({ id, upstream_id: name = id, deprecation_date }) =>
        [deprecation_date, ...prefixes.map((prefix) => ends.get(`${prefix}${name}`))].some(
          (day = "9999") => day <= review.as_of,
        ),
      );
      expect([file, ...ended.map(({ id }) => id)]).toEqual([file]);
      const changes = Object.values(terms).flatMap((each) => each.price_changes ?? []);
      const past = changes.filter(({ from }) => from.slice(0, 10) <= review.as_of);
      expect([file, ...past]).toEqual([file]);
    }
  });

  test("mark only confirmed models as ready, and a documented reason for every staged model", () => {
    const page = readFileSync(join(root, "docs/catalog.md"), "utf8");
    for (const { file, manifest, terms } of shipped) {
      const doubtful = manifest.models.filter((model) => {
        const { checked, staged_because: reasons = [] } = terms[model.id] ?? {};
        const isReady = model.is_ready !== false;
        return isReady ? checked === undefined || reasons.length > 0 : reasons.length === 0;
      });
      expect([file, ...doubtful.map(({ id }) => id)]).toEqual([file]);
      const codes = new Set(Object.values(terms).flatMap((each) => each.staged_because ?? []));
      const silent = [...codes].filter((code) => !page.includes(`| \`${code}\``));
      expect([file, ...silent]).toEqual([file]);
    }
  });

  test("match the recorded import hash of every listing that the review did not edit", () => {
    for (const { file, manifest, terms } of shipped) {
      const imported = manifest.catalog_source?.imported ?? {};
      const { edits = [] } = review.providers[manifest.provider.id] ?? {};
      const edited = new Set(edits.map(({ model }) => model));
      const changed = manifest.models.filter(
        (model) =>
          imported[model.id] !== undefined &&
          imported[model.id] !== listingHash(model, terms[model.id]) &&
          !edited.has(model.id),
      );
      expect([file, ...changed.map(({ id }) => id)]).toEqual([file]);
      const known = new Set(manifest.models.map(({ id }) => id));
      const gone = Object.keys(imported).filter((id) => !known.has(id));
      expect([file, ...gone]).toEqual([file]);
    }
  });

  test("have a reason for every decision of the review and a model for each of its edits", () => {
    for (const [id, { edits = [], leave_out: out = {}, without = {} }] of Object.entries(
      review.providers,
    )) {
      const reasons = [
        ...edits.map(({ reason }) => reason),
        ...Object.values({ ...out, ...without }),
      ];
      expect([id, reasons.filter((reason) => reason.length < 8)]).toEqual([id, []]);
      const reviewed = shipped.find(({ file }) => file === `${id}.json`);
      const models = new Set(reviewed?.manifest.models.map((model) => model.id));
      expect([id, edits.filter(({ model }) => !models.has(model))]).toEqual([id, []]);
    }
  });

  test("set each OpenRouter listing's own highest prompt price as its max_price", () => {
    const openrouter = shipped.find(({ file }) => file === "openrouter.json");
    const { models = [] } = openrouter?.manifest ?? {};
    const { terms = {} } = openrouter ?? {};
    expect(models.length).toBeGreaterThan(0);
    for (const model of models) {
      const body = terms[model.id]?.body;
      const price = (type: string): string | undefined =>
        model.pricing.find((each) => each.type === type)?.cost_usd_per_million;
      const last = terms[model.id]?.price_changes?.at(-1);
      const tier = (last ?? terms[model.id])?.price_tiers?.at(-1) ?? last;
      const dearest = tier?.pricing.find((each) => each.type === "prompt")?.cost_usd_per_million;
      const limit = { provider: { max_price: { prompt: dearest ?? price("prompt") } } };
      expect([model.id, body]).toMatchObject([model.id, limit]);
    }
  });
});
