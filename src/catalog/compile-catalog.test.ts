import { describe, expect, test } from "vitest";

import type { ManifestFile } from "./catalog-input.ts";
import type { Deployment } from "./catalog.ts";
import { compileCatalog, type CatalogInput } from "./compile-catalog.ts";
import { nextBuildMs } from "./deployment-copy.ts";
import {
  compileFiles,
  edited,
  imageManifest,
  manifestFile,
  pricing,
  textManifest,
  type Edits,
} from "../../test/fixtures/manifest/samples.ts";

/** Returns the sample text manifest with one plain model, with `edits` applied. */
function writeManifest(provider: string, edits: Edits = {}): ManifestFile {
  const model = {
    id: "m",
    context_length: 1_000,
    streaming: true,
    pricing: pricing({ prompt: "1", completion: "2" }),
  };
  const plain: Edits = { "/provider/id": provider, "/endpoint/api_key_env": undefined };
  const document = edited(textManifest(), { ...plain, "/models": [model], ...edits });
  return manifestFile(`${provider}.json`, document);
}

const compiled = compileFiles;

function only(manifest: ManifestFile, more: Partial<CatalogInput> = {}): Deployment {
  const [deployment, ...others] = compiled([manifest], more).catalog.deployments;
  if (deployment === undefined || others.length > 0) throw new Error("not one deployment");
  return deployment;
}

function findIssues(...manifests: readonly ManifestFile[]): readonly string[] {
  const outcome = compileCatalog({ manifests, hasKey: () => true, today: "2026-11-20" });
  if (outcome.ok) return [];
  return outcome.issues.map(({ file, pointer, message }) => `${file}${pointer}: ${message}`);
}

describe("a deployment", () => {
  test("has every default of the specification filled in", () => {
    const { prices, ...rest } = only(
      writeManifest("acme", {
        "/provider/priority": undefined,
        "/endpoint/billing": undefined,
        "/endpoint/base_url": "https://api.acme.example/v1//",
      }),
    );
    expect(rest).toEqual({
      id: "acme/m",
      providerId: "acme",
      providerName: "Acme",
      modelId: "m",
      upstreamModelId: "m",
      resolvesTo: [],
      wire: "wire_a",
      manifestSha256: "of no file",
      modality: "text",
      baseUrl: "https://api.acme.example/v1",
      priority: 0,
      promptLogging: "none",
      datacenters: [],
      billing: "token",
      defaultedSkus: ["cached_prompt", "cache_write", "internal_reasoning"],
      inputModalities: new Set(["text"]),
      contextLength: 1_000,
      supportedParameters: new Map(),
      imagesPath: "/images/generations",
      videosPath: "/videos",
      priceCard: [],
      capacity: [],
      pool: { id: "acme/m", capacity: [], orgSharePercent: 50 },
      settlement: { mode: "arrears", interval: "weekly" },
    });
    expect(prices?.pinId).toMatch(/^[0-9a-f]{32}$/);
  });

  test("carries everything its listing declares", () => {
    const manifest = manifestFile("acme.json", edited(textManifest(), { "/models/1": undefined }));
    const deployment = only(manifest);
    expect(deployment).toMatchObject({
      upstreamModelId: "quill-large:fast",
      resolvesTo: ["quill-large"],
      apiKeyEnv: "ACME_API_KEY",
      priority: 1,
      datacenters: ["DE", "FI"],
      inputModalities: new Set(["text", "image"]),
      maxOutputTokens: 8_192,
      capacity: [
        { type: "request", per: "minute", value: 600 },
        { type: "prompt", per: "day", value: 9_000_000 },
      ],
    });
    expect(Object.fromEntries(deployment.supportedParameters)).toEqual(
      manifest.manifest.models[0]?.supported_parameters,
    );
  });

  test("has the history rules of its listing beside those of its endpoint", () => {
    const terms = { "/listing_terms": { m: { history: ["system-first"] } } };
    const profile = { "/wire_profile": { undeclared: "drop", history: ["no-name"] } };
    const without = only(writeManifest("acme", terms)).wireProfile;
    expect(without).toMatchObject({ history: new Set(["system-first"]), dropsUndeclared: false });
    expect(only(writeManifest("acme", { ...terms, ...profile })).wireProfile).toMatchObject({
      history: new Set(["no-name", "system-first"]),
      dropsUndeclared: true,
    });
    expect(only(writeManifest("acme", profile)).wireProfile?.history).toEqual(new Set(["no-name"]));
  });
});

describe("prices", () => {
  test("charge the base rate for an absent SKU, never 0", () => {
    expect(only(writeManifest("acme")).prices).toMatchObject({
      prompt: 1_000_000n,
      cachedPrompt: 1_000_000n,
      cacheWrite: 1_000_000n,
      completion: 2_000_000n,
      internalReasoning: 2_000_000n,
    });
  });

  test("charge what is declared, 0 included", () => {
    const output = { completion: "15", internal_reasoning: "0.000001" };
    const declared = pricing({ prompt: "3", cached_prompt: "0", cache_write: "3.75", ...output });
    expect(only(writeManifest("acme", { "/models/0/pricing": declared })).prices).toMatchObject({
      prompt: 3_000_000n,
      cachedPrompt: 0n,
      cacheWrite: 3_750_000n,
      completion: 15_000_000n,
      internalReasoning: 1n,
    });
  });

  test("have a pin id that depends only on the provider, the model and the prices", () => {
    const pin = (provider: string, edits: Edits = {}): string | undefined =>
      only(writeManifest(provider, edits)).prices?.pinId;
    const writeDeclared = pricing({ prompt: "1.0", completion: "2", cache_write: "1" });
    const dearer = pricing({ prompt: "1", completion: "2", cache_write: "1.000001" });
    expect(pin("acme", { "/models/0/pricing": writeDeclared })).toBe(pin("acme"));
    expect(pin("acme", { "/models/0/display_name": "M" })).toBe(pin("acme"));
    expect(pin("acme", { "/models/0/pricing": dearer })).not.toBe(pin("acme"));
    expect(pin("acne")).not.toBe(pin("acme"));
    expect(pin("acme", { "/models/0/id": "n" })).not.toBe(pin("acme"));
  });
});

describe("a model of several providers", () => {
  const first = writeManifest("zeta", { "/provider/priority": 0 });
  const second = writeManifest("beta", {
    "/provider/priority": 1,
    "/models/0/display_name": "Model M",
    "/models/0/released": "2026-05-01",
    "/models/0/context_length": 4_000,
    "/models/0/max_output_tokens": 500,
    "/models/0/input_modalities": ["image", "text"],
    "/models/0/supported_parameters": { tools: { type: "boolean" }, seed: { type: "integer" } },
  });
  const third = writeManifest("alpha", {
    "/provider/priority": 1,
    "/models/0/display_name": "Other name",
    "/models/0/context_length": 2_000,
    "/models/0/supported_parameters": { seed: { type: "unknown" }, top_k: { type: "unknown" } },
  });

  test("is tried by priority, then by provider id, whatever the order of the files", () => {
    for (const manifests of [
      [first, second, third],
      [third, second, first],
    ]) {
      const model = compiled(manifests).catalog.find("m");
      expect(model?.deployments.map(({ id }) => id)).toEqual(["zeta/m", "alpha/m", "beta/m"]);
    }
  });

  test("is tried at the cheapest of equal priority first, whatever the providers' names", () => {
    const orderOf = (costs: Readonly<Record<string, readonly [string, string]>>): unknown => {
      const manifests = Object.entries(costs).map(([provider, [prompt, completion]]) =>
        writeManifest(provider, { "/models/0/pricing": pricing({ prompt, completion }) }),
      );
      return compiled(manifests)
        .catalog.find("m")
        ?.deployments.map(({ providerId }) => providerId);
    };
    expect(orderOf({ alpha: ["5", "5"], zeta: ["1", "1"] })).toEqual(["zeta", "alpha"]);
    // Three prompt tokens and one completion token cost the same at both, so the id decides.
    expect(orderOf({ alpha: ["1", "4"], zeta: ["2", "1"] })).toEqual(["alpha", "zeta"]);
    expect(orderOf({ zeta: ["1", "4"], alpha: ["2", "1"] })).toEqual(["alpha", "zeta"]);
    expect(orderOf({ alpha: ["1", "5"], zeta: ["2", "1"] })).toEqual(["zeta", "alpha"]);
  });

  test("has the texts of the first provider that states them, and the abilities of all", () => {
    expect(compiled([second, first, third]).catalog.find("m")).toMatchObject({
      displayName: "Other name",
      released: "2026-05-01",
      contextLength: 4_000,
      maxOutputTokens: 500,
      inputModalities: ["text", "image"],
      supportedParameters: new Map([
        ["tools", { type: "boolean" }],
        ["seed", { type: "unknown" }],
        ["top_k", { type: "unknown" }],
      ]),
    });
  });

  test("is deprecated when its last listing is deprecated", () => {
    const until = (date: string): ManifestFile =>
      writeManifest(`p${date}`, { "/models/0/deprecation_date": date });
    const find = (...manifests: ManifestFile[]): string | undefined =>
      compiled(manifests).catalog.find("m")?.deprecationDate;
    expect(find(until("2027-01-01"), until("2028-01-01"))).toBe("2028-01-01");
    expect(find(until("2027-01-01"), first)).toBeUndefined();
  });

  test("is refused if a provider lists it with another modality, and the message names one", () => {
    const edits = { "/provider/id": "picto", "/models/0/id": "m" };
    const image = manifestFile("picto.json", edited(imageManifest(), edits));
    expect(findIssues(image, first)).toEqual([
      "picto.json/models/0: model m has modality image, but zeta.json lists it as text; rename one of them",
    ]);
  });
});

describe("a listing that is not routed", () => {
  const missing = { hasKey: (name: string): boolean => name !== "ACME_KEY" };

  test.each<[string, Edits, string, string]>([
    ["staged", { "/models/0/is_ready": false }, "staged", "is_ready is false"],
    [
      "staged for a reason",
      {
        "/models/0/is_ready": false,
        "/listing_terms": { m: { staged_because: ["old-agreement", "preview"] } },
      },
      "staged",
      "it is staged (old-agreement, preview); docs/catalog.md says what makes it ready",
    ],
    ["private", { "/provider/listing": "private" }, "private", "private capacity"],
    ["without its key", { "/endpoint/api_key_env": "ACME_KEY" }, "key_missing", "ACME_KEY is not"],
  ])("is compiled, kept out of models and providers, and noted: %s", (_, edits, reason, words) => {
    const { catalog, notes } = compiled([writeManifest("acme", edits)], missing);
    expect(catalog.deployments).toMatchObject([{ id: "acme/m", notReady: reason }]);
    expect(catalog).toMatchObject({ models: [], providers: [] });
    expect(catalog.find("m")).toBeUndefined();
    expect(notes).toMatchObject([{ file: "acme.json", deploymentId: "acme/m", reason }]);
    expect(notes[0]?.message).toContain(words);
  });

  test("leaves the catalog after its deprecation date, and still serves on that day", () => {
    const edits = { "/models/0/deprecation_date": "2026-11-20" };
    const onTheDay = compiled([writeManifest("acme", edits)]);
    expect(onTheDay.catalog.find("m")).toMatchObject({ deprecationDate: "2026-11-20" });
    const dayAfter = compiled([writeManifest("acme", edits)], { today: "2026-11-21" });
    expect(dayAfter.catalog).toMatchObject({ models: [], deployments: [] });
    expect(dayAfter.notes).toMatchObject([{ deploymentId: "acme/m", reason: "past_dated" }]);
    expect(dayAfter.catalog.buildId).not.toBe(onTheDay.catalog.buildId);
  });

  test("is due to be left out when its last day ends, so that no instance sells it longer", () => {
    const edits = { "/models/0/deprecation_date": "2026-11-20" };
    const { catalog } = compiled([writeManifest("acme", edits)]);
    expect(nextBuildMs(catalog)).toBe(Date.parse("2026-11-21"));
    const dayAfter = compiled([writeManifest("acme", edits)], { today: "2026-11-21" });
    expect(nextBuildMs(dayAfter.catalog)).toBe(Infinity);
  });
});

describe("the providers of a catalog", () => {
  const provider = (id: string, name: string, more: Edits = {}): ManifestFile =>
    writeManifest(id, { "/provider/name": name, ...more });

  test("are sorted by name, with their legal links and their prompt logging", () => {
    const { catalog } = compiled([
      provider("zz", "Alpha", {
        "/provider/privacy_policy_url": "https://z.example/privacy",
        "/provider/terms_of_service_url": "https://z.example/terms",
        "/provider/status_page_url": undefined,
      }),
      provider("aa", "Beta", { "/provider/prompt_logging": "retained" }),
    ]);
    expect(catalog.providers).toMatchObject([
      {
        id: "zz",
        name: "Alpha",
        privacyPolicyUrl: "https://z.example/privacy",
        termsOfServiceUrl: "https://z.example/terms",
        promptLogging: "none",
        deployments: [{ id: "zz/m" }],
      },
      { id: "aa", promptLogging: "retained" },
    ]);
    expect(catalog.providers[0]).not.toHaveProperty("statusPageUrl");
  });
});

describe("private capacity", () => {
  const open = writeManifest("open");
  const hidden = writeManifest("hidden", {
    "/provider/listing": "private",
    "/models/0/display_name": "Mine",
    "/models/0/context_length": 9_000,
  });

  test("is found only by its own provider and model", () => {
    const { catalog } = compiled([open, hidden]);
    expect(catalog.findDedicated("hidden", "m")).toMatchObject({
      id: "m",
      displayName: "Mine",
      contextLength: 9_000,
      deployments: [{ id: "hidden/m", notReady: "private" }],
    });
    expect(catalog.find("m")).toMatchObject({ displayName: "m", deployments: [{ id: "open/m" }] });
    expect(catalog.findDedicated("open", "m")).toBeUndefined();
    expect(catalog.findDedicated("hidden", "n")).toBeUndefined();
    expect(Object.isFrozen(catalog.findDedicated("hidden", "m"))).toBe(true);
  });

  test.each<[string, Edits]>([
    ["staged", { "/models/0/is_ready": false }],
    ["without its key", { "/endpoint/api_key_env": "ACME_KEY" }],
    ["past its deprecation date", { "/models/0/deprecation_date": "2020-01-01" }],
  ])("that is %s as well is not found, and stays reserved for its endpoint", (_, edits) => {
    const listing = { "/provider/listing": "private", ...edits };
    const { catalog } = compiled([open, writeManifest("hidden", listing)], {
      hasKey: (name) => name !== "ACME_KEY",
    });
    expect(catalog.findDedicated("hidden", "m")).toBeUndefined();
    expect(catalog.isDedicated("hidden", "m")).toBe(true);
    expect(catalog.isDedicated("hidden", "n")).toBe(false);
    expect(catalog.isDedicated("open", "m")).toBe(false);
  });

  test("of a manifest that is left out stays reserved for its endpoint", () => {
    const { catalog } = compiled([open], { leftOut: [hidden] });
    expect(catalog.buildId).not.toBe(compiled([open]).catalog.buildId);
    expect(catalog.findDedicated("hidden", "m")).toBeUndefined();
    expect(catalog.isDedicated("hidden", "m")).toBe(true);
  });
});

describe("a catalog", () => {
  const one = writeManifest("one");
  const two = writeManifest("two", { "/models/0/id": "n" });

  test("has the same build id for the same manifests in any order, with and without keys", () => {
    const build = compiled([one, two]).catalog.buildId;
    expect(build).toMatch(/^[0-9a-f]{32}$/);
    expect(compiled([two, one], { hasKey: () => false }).catalog.buildId).toBe(build);
    expect(compiled([one]).catalog.buildId).not.toBe(build);
  });

  test("lists newest first, undated last, then by name", () => {
    const listed = (id: string, name: string, released: string | undefined): ManifestFile =>
      writeManifest(`p-${id}`, {
        "/models/0/id": id,
        "/models/0/display_name": name,
        "/models/0/released": released,
      });
    const { models } = compiled([
      listed("undated", "A", undefined),
      listed("old", "B", "2025-01-01"),
      listed("new-z", "Z", "2026-01-01"),
      listed("new-y", "Y", "2026-01-01"),
    ]).catalog;
    expect(models.map(({ id }) => id)).toEqual(["new-y", "new-z", "old", "undated"]);
  });

  test("refuses two manifests of one provider", () => {
    expect(findIssues(one, two, { ...one, file: "again.json" })).toEqual([
      "again.json/provider/id: provider id one is already used by one.json; merge the two or rename one",
    ]);
  });

  test("finds no model under the names __proto__ and constructor", () => {
    expect(compiled([one]).catalog.find("__proto__")).toBeUndefined();
    expect(compiled([one]).catalog.find("constructor")).toBeUndefined();
  });
});
