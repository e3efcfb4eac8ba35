import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../test/support/depth.ts";
import { validateManifest } from "../../catalog/index.ts";
import { type RawJson, RawNumber, type RawObject } from "../../kernel/index.ts";
import {
  importFor,
  SNAPSHOTS,
  buildSource,
} from "../../../test/fixtures/listing-sources/snapshots.ts";
import { readSource, type SourceInput } from "./import-listings.ts";
import { isImportable, providerHeads } from "./provider-heads.ts";

/** One snapshot of each list; the later ones are read in traps.test.ts. */
const { litellm, modelsDev, openRouter, genaiPrices } = SNAPSHOTS;
const LISTS = [litellm, modelsDev, openRouter, genaiPrices].map(
  (list) => [list.from, list] as const,
);

/** Every provider's name in a source, with the number of its entries. */
function providersOf({ from, document }: SourceInput): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (name: unknown, entries: number): void => {
    if (typeof name === "string") counts.set(name, (counts.get(name) ?? 0) + entries);
  };
  const members = (value: RawJson | undefined): [string, RawJson][] =>
    value instanceof Map ? [...(value as RawObject)] : [];
  const items = (value: RawJson | undefined): RawJson[] =>
    Array.isArray(value) ? [...(value as readonly RawJson[])] : [];
  const of = (value: RawJson, key: string): RawJson | undefined =>
    value instanceof Map ? (value as RawObject).get(key) : undefined;
  if (from === "litellm") {
    for (const [, entry] of members(document)) add(of(entry, "litellm_provider"), 1);
  } else if (from === "models.dev") {
    for (const [name, each] of members(document)) add(name, members(of(each, "models")).length);
  } else if (from === "openrouter") add("*", items(of(document, "data")).length);
  else for (const each of items(document)) add(of(each, "id"), items(of(each, "models")).length);
  return counts;
}

describe.each(LISTS)("every entry of %s", (_name, source) => {
  const providers = providersOf(source);

  test("is a draft or is skipped with a reason, for every provider in it", () => {
    let read = 0;
    for (const [provider, entries] of providers) {
      const readings = readSource(source.from, source.document, { provider, dated: source.dated });
      const own = readings.filter(
        (each) => each.kind === "draft" || each.note.code !== "not-a-model",
      );
      expect([provider, own.length]).toEqual([provider, SELF.has(provider) ? 0 : entries]);
      // There are about ten thousand entries, so each provider's are compared at once.
      expect(own.filter((each) => !isTold(each))).toEqual([]);
      read += own.length;
    }
    expect(read).toBeGreaterThan(10);
  });

  test("ends as listed, staged or skipped in an import, and the manifest is valid", () => {
    const heads = providerHeads().filter(isImportable);
    for (const head of heads.filter((each) => each.sources[source.from] !== undefined)) {
      const { id } = head.provider;
      const result = importFor(id, source);
      const name = head.sources[source.from] ?? "";
      const readings = readSource(source.from, source.document, {
        provider: name,
        dated: source.dated,
      });
      const { listed, staged, skipped, manifest } = result;
      expect([id, listed.length + staged.length + skipped.length]).toEqual([id, readings.length]);
      expect(skipped.every((model) => result.notes.some((note) => note.model === model))).toBe(
        true,
      );
      expect(manifest === undefined).toBe(listed.length + staged.length === 0);
      if (manifest === undefined) continue;
      const verdict = validateManifest(JSON.stringify(manifest));
      expect(verdict).toMatchObject({ ok: true });
      const wrong = manifest.models.filter((model) => {
        const reasons = manifest.listing_terms?.[model.id]?.staged_because ?? [];
        return (model.is_ready === false) !== reasons.length > 0;
      });
      expect([id, wrong]).toEqual([id, []]);
    }
  });
});

/** True for a skipped entry with a reason and for a draft with a price. */
function isTold(reading: ReturnType<typeof readSource>[number]): boolean {
  return reading.kind === "skipped"
    ? reading.note.message !== ""
    : isPrice(reading.draft.prices.sheet.prompt);
}

function isPrice(text: string): boolean {
  return /^\d{1,7}(?:\.\d{1,6})?$/.test(text);
}

/** The entry of LiteLLM's file that explains the file. */
const SELF = new Set(["one of https://docs.litellm.ai/docs/providers"]);

describe("a source that was tampered with", () => {
  const bad: RawJson[] = [null, true, "text", [], new Map(), new RawNumber("-1e999")];

  test.each(LISTS)("does not make the reader of %s throw", (_name, source) => {
    const [provider = ""] = [...providersOf(source)].toSorted((a, b) => b[1] - a[1])[0] ?? [];
    const tampered = (value: RawJson, seed: number): RawJson => {
      const next = (each: RawJson, at: number): RawJson =>
        (seed + at * 7919) % 23 === 0
          ? (bad[(seed + at) % bad.length] ?? null)
          : tampered(each, seed * 31 + at + 1);
      if (value instanceof Map) {
        const members = [...(value as RawObject)];
        return new Map(members.map(([key, each], at) => [key, next(each, at % 997)]));
      }
      return Array.isArray(value)
        ? value.map((each, at) => next(each as RawJson, at % 997))
        : value;
    };
    for (let seed = 1; seed <= quickOrDeep(2, 12); seed += 1) {
      const document = tampered(source.document, seed);
      const input = { provider, dated: source.dated };
      expect(() => readSource(source.from, document, input)).not.toThrow();
    }
  });

  test("that is no list at all gives no listing", () => {
    for (const text of ["null", "[]", "{}", '"x"', "1", '{"data":1}', '[{"id":"openai"}]']) {
      for (const from of ["litellm", "models.dev", "openrouter", "genai-prices"] as const) {
        const { manifest, listed } = importFor("openai", buildSource(from, "2026-08-01", text));
        expect([from, text, listed, manifest]).toEqual([from, text, [], undefined]);
      }
    }
  });
});
