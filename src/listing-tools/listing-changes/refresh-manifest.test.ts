import { describe, expect, test } from "vitest";

import { pricing, smallManifest } from "../../../test/fixtures/manifest/samples.ts";
import type { Manifest, ManifestPrice } from "../../catalog/manifest/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { indexListings, ratesAt, type Listing } from "./listing-prices.ts";
import { refreshManifest, type Refreshed } from "./refresh-manifest.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
const RISE_MS = Date.parse("2026-12-01T00:00:00Z");
const ID = "acme/small";

type Model = Manifest["models"][number];
type Terms = NonNullable<Manifest["listing_terms"]>[string];
type Sourced = Parameters<typeof refreshManifest>[0]["imported"];

const at = (prompt: string, completion = "4"): ManifestPrice[] => pricing({ prompt, completion });

function model(change: Partial<Model> = {}): Model {
  return { id: ID, context_length: 100_000, streaming: true, pricing: at("1"), ...change };
}

/** Builds the manifest that an import of these listings would write. */
function imported(
  models: readonly Model[],
  terms?: Record<string, Terms>,
  dated = "2026-11-01",
): Sourced {
  const hashes = models.map((each) => [each.id, listingHash(each, terms?.[each.id])] as const);
  return {
    ...smallManifest(models, terms),
    catalog_source: {
      from: "litellm",
      dated,
      sha256: "0".repeat(64),
      imported: Object.fromEntries(hashes),
    },
  };
}

interface Options {
  readonly nowMs?: number;
  readonly riseFromMs?: number;
  readonly effectiveMs?: number;
  readonly riseMax?: bigint;
  readonly accept?: readonly string[];
  readonly unsettled?: readonly string[];
}

function refresh(current: Sourced, next: Sourced, options: Options = {}): Refreshed {
  const { nowMs = NOW_MS, riseFromMs = RISE_MS, riseMax = 20_000_000n, accept = [] } = options;
  const { effectiveMs } = options;
  return refreshManifest({
    current,
    imported: next,
    rules: { nowMs, riseFromMs, riseMax, ...(effectiveMs === undefined ? {} : { effectiveMs }) },
    accepted: new Set(accept),
    unsettled: new Set(options.unsettled),
  });
}

function again(first: Refreshed, next: Sourced, options: Options = {}): Refreshed {
  return refresh(first.manifest as Sourced, next, options);
}

function listingIn({ manifest }: Refreshed, id = ID): Listing {
  const found = indexListings(manifest).get(id);
  if (found === undefined) throw new Error(`no ${id}`);
  return found;
}

function promptAt(refreshed: Refreshed, atMs: number): string | undefined {
  return ratesAt(listingIn(refreshed), atMs)[0]?.rates.prompt;
}

const kinds = ({ findings }: Refreshed): string[] => findings.map(({ kind }) => kind);

describe("prices that the source has changed", () => {
  const old = imported([model()]);
  const raised = imported([model({ pricing: at("1.2") })]);
  const nextDay = { nowMs: NOW_MS + DAY_MS, riseFromMs: RISE_MS + DAY_MS };

  test("a rise is announced: customers pay it from its day on, and the provider is owed it at once", () => {
    const found = refresh(old, raised);
    expect(promptAt(found, RISE_MS - 1)).toBe("1");
    expect(promptAt(found, RISE_MS)).toBe("1.2");
    expect(found.findings).toEqual([]);
    const { terms } = listingIn(found);
    expect(terms.purchase_pricing).toEqual(at("1.2"));
    expect(terms.price_changes).toMatchObject([
      { from: "2026-12-01T00:00:00Z", purchase_pricing: at("1.2") },
    ]);
  });

  test("a cut applies at once, and nothing is announced", () => {
    const next = imported([model({ pricing: at("0.5") })]);
    const found = refresh(old, next);
    expect(listingIn(found)).toEqual({ model: model({ pricing: at("0.5") }), terms: {} });
    expect(found.manifest).toEqual(next);
  });

  test("if one price rises and another falls, both change on the announced day", () => {
    const found = refresh(old, imported([model({ pricing: at("1.1", "3") })]));
    const [now] = ratesAt(listingIn(found), NOW_MS);
    expect(now?.rates).toMatchObject({ prompt: "1", completion: "4" });
    const [later] = ratesAt(listingIn(found), RISE_MS);
    expect(later?.rates).toMatchObject({ prompt: "1.1", completion: "3" });
  });

  test("an instant that the operator names holds for rises and for cuts", () => {
    const effectiveMs = Date.parse("2027-02-01T00:00:00Z");
    for (const price of ["1.2", "0.5"]) {
      const found = refresh(old, imported([model({ pricing: at(price) })]), { effectiveMs });
      expect([promptAt(found, effectiveMs - 1), promptAt(found, effectiveMs)]).toEqual([
        "1",
        price,
      ]);
    }
  });

  test("refreshing twice changes nothing the second time, the same day and on a later one", () => {
    const next = imported([model({ pricing: at("1.2") })], undefined, "2026-11-22");
    const first = refresh(old, next);
    expect(again(first, next).manifest).toBe(first.manifest);
    expect(again(first, next, nextDay).manifest).toBe(first.manifest);
    expect(again(first, next, { effectiveMs: RISE_MS + 9 * DAY_MS }).manifest).toBe(first.manifest);
  });

  test("an announced rise becomes the price on its day, and the manifest equals the source's", () => {
    const next = imported([model({ pricing: at("1.2") })], undefined, "2026-11-22");
    const found = again(refresh(old, next), next, { nowMs: RISE_MS, riseFromMs: RISE_MS + 7 });
    expect(found.manifest).toEqual(next);
  });

  test("an announced rise that becomes smaller still begins on its day", () => {
    const found = again(refresh(old, raised), imported([model({ pricing: at("1.1") })]), nextDay);
    expect([promptAt(found, RISE_MS - 1), promptAt(found, RISE_MS)]).toEqual(["1", "1.1"]);
  });

  test("a further rise is announced for a later day of its own", () => {
    const found = again(refresh(old, raised), imported([model({ pricing: at("1.3") })]), nextDay);
    const prices = [RISE_MS - 1, RISE_MS, RISE_MS + DAY_MS].map((ms) => promptAt(found, ms));
    expect(prices).toEqual(["1", "1.2", "1.3"]);
  });

  test("a rise that the source itself announces for later keeps the source's day", () => {
    const from = "2027-01-01T00:00:00Z";
    const next = imported([model()], { [ID]: { price_changes: [{ from, pricing: at("1.2") }] } });
    const found = refresh(old, next);
    expect(listingIn(found).terms).toEqual({ price_changes: [{ from, pricing: at("1.2") }] });
  });

  test("an added tier is a rise for long prompts: all prices wait for the announced day", () => {
    const tiers = [{ above_prompt_tokens: 200_000, pricing: at("1.1", "4") }];
    const found = refresh(old, imported([model()], { [ID]: { price_tiers: tiers } }));
    expect(ratesAt(listingIn(found), NOW_MS)).toHaveLength(1);
    expect(ratesAt(listingIn(found), RISE_MS)).toHaveLength(2);
    expect(listingIn(found).terms.purchase_tiers).toEqual(tiers);
  });

  test("every sale price has a purchase price when a tier is removed and other prices rise", () => {
    const tiers = [{ above_prompt_tokens: 200_000, pricing: at("1.1", "4") }];
    const before = imported([model()], { [ID]: { price_tiers: tiers } });
    const { terms } = listingIn(refresh(before, raised));
    expect(terms.price_tiers).toEqual(tiers);
    expect(terms.purchase_tiers).toEqual([{ above_prompt_tokens: 200_000, pricing: at("1.2") }]);
  });

  test("a removed price of hour-long cache writes falls back to the raised price on its day", () => {
    const before = imported([model()], { [ID]: { extra_pricing: { cache_write_1h: "1" } } });
    const { terms } = listingIn(refresh(before, raised));
    expect(terms.price_changes?.[0]).toMatchObject({
      extra_pricing: { cache_write_1h: "1.2" },
      purchase_extra: { cache_write_1h: "1.2" },
    });
    expect(terms).toMatchObject({
      extra_pricing: { cache_write_1h: "1" },
      purchase_extra: { cache_write_1h: "1.2" },
    });
  });

  test("a staged listing serves no client, so its new prices hold at once", () => {
    const staged = (prompt: string): Sourced =>
      imported([model({ is_ready: false, pricing: at(prompt) })]);
    expect(refresh(staged("1"), staged("9")).manifest).toEqual(staged("9"));
  });
});

describe("a change that waits for a person", () => {
  const old = imported([model()]);

  test.each([
    ["1.2", 20_000_000n, []],
    ["1.200001", 20_000_000n, ["rise_waits"]],
    ["3.000001", 200_000_000n, ["rise_waits"]],
  ])("a rise to %s waits only above %s millionths of a percent", (price, riseMax, wanted) => {
    const found = refresh(old, imported([model({ pricing: at(price) })]), { riseMax });
    expect(kinds(found)).toEqual(wanted);
    expect(promptAt(found, RISE_MS)).toBe(wanted.length === 0 ? price : "1");
  });

  test("a rise from a price of 0 is above every bound", () => {
    const free = imported([model({ pricing: at("0") })]);
    const next = imported([model({ pricing: at("0.000001") })]);
    expect(kinds(refresh(free, next, { riseMax: 10n ** 12n }))).toEqual(["rise_waits"]);
  });

  test("an accepted rise is announced like others, and is not asked for again", () => {
    const next = imported([model({ pricing: at("2") })]);
    const waiting = refresh(old, next);
    expect(waiting.findings).toMatchObject([
      { model: ID, kind: "rise_waits", prices: [{ sku: "prompt", percent: "+100" }, {}, {}, {}] },
    ]);
    expect(kinds(again(waiting, next))).toEqual(["rise_waits"]);
    const taken = again(waiting, next, { accept: [ID] });
    expect([promptAt(taken, NOW_MS), promptAt(taken, RISE_MS)]).toEqual(["1", "2"]);
    expect(again(taken, next)).toMatchObject({ isUnchanged: true, findings: [] });
  });

  test("a listing on sale is not staged until a person accepts it", () => {
    const next = imported([model({ is_ready: false })], { [ID]: { staged_because: ["dated"] } });
    const found = refresh(old, next);
    expect(kinds(found)).toEqual(["staging_waits"]);
    expect(listingIn(found).model.is_ready).toBeUndefined();
    const taken = refresh(old, next, { accept: [ID] });
    expect(taken.manifest).toEqual(next);
  });
});

describe("a manifest edited by hand", () => {
  test("keeps an edited listing unchanged, and the differences of the source are reported", () => {
    const old = imported([model()]);
    const edited = { ...old, models: [model({ display_name: "Mine", pricing: at("1.5") })] };
    const found = refresh(edited, imported([model({ pricing: at("0.5") })]), { accept: [ID] });
    expect(found.manifest.models).toEqual(edited.models);
    expect(found.findings).toMatchObject([
      {
        kind: "edited",
        prices: [{ sku: "prompt", old: "1.5", new: "0.5" }, {}, {}, {}],
        facts: [{}],
      },
    ]);
    expect(again(found, imported([model({ pricing: at("0.5") })])).manifest).toBe(found.manifest);
  });

  test("keeps a listing whose terms were edited", () => {
    const old = imported([model()]);
    const checked: Terms = { checked: { on: "2026-11-20", by: "page" } };
    const edited = { ...old, listing_terms: { [ID]: checked } };
    const found = refresh(edited, imported([model({ pricing: at("0.5") })]));
    expect(listingIn(found)).toEqual({ model: model(), terms: checked });
    expect(kinds(found)).toEqual(["edited"]);
  });

  test("follows the source again once the source agrees with an edit", () => {
    const old = imported([model()]);
    const edited = { ...old, models: [model({ pricing: at("2") })] };
    const agreed = refresh(edited, imported([model({ pricing: at("2") })]));
    expect(agreed.findings).toEqual([]);
    expect(kinds(again(agreed, imported([model({ pricing: at("1.9") })])))).toEqual([]);
    expect(promptAt(again(agreed, imported([model({ pricing: at("1.9") })])), NOW_MS)).toBe("1.9");
  });

  test("keeps an added listing, and does not get a removed one back", () => {
    const own = model({ id: "acme/own" });
    const old = imported([model(), model({ id: "acme/other" })]);
    const edited = { ...old, models: [old.models[1] as Model, own] };
    const found = refresh(edited, imported([model(), model({ id: "acme/other" })]));
    expect(found.manifest.models.map(({ id }) => id)).toEqual(["acme/other", "acme/own"]);
    expect(kinds(found)).toEqual(["removed_by_hand"]);
    expect(again(found, old).manifest).toBe(found.manifest);
  });
});

describe("listings that come and go in the source", () => {
  const two = [model({ id: "acme/a" }), model({ id: "acme/b" })];
  const three = [...two, model({ id: "acme/c" })];

  test("an added listing is listed, with its hash", () => {
    const next = imported(three);
    expect(refresh(imported(two), next).manifest).toEqual(next);
  });

  test("a removed listing is kept, with a deprecation date fourteen days ahead", () => {
    const found = refresh(imported(three), imported(two));
    expect(kinds(found)).toEqual(["gone"]);
    expect(listingIn(found, "acme/c").model.deprecation_date).toBe("2026-12-07");
    const later = { nowMs: NOW_MS + 3 * DAY_MS };
    expect(again(found, imported(two), later)).toMatchObject({ isUnchanged: true, findings: [] });
  });

  test("a listing that one source still has is kept until a person accepts its end", () => {
    const others = ["acme/b", "acme/c"].map((id) => model({ id }));
    const current = imported([model(), ...others]);
    const next = imported(others, undefined, "2026-11-20");
    const kept = refresh(current, next, { unsettled: [ID] });
    expect(kept.manifest.models[0]).toEqual(model());
    expect(kinds(kept)).toEqual(["staging_waits"]);
    const staged = imported([model({ is_ready: false }), ...others]);
    expect(kinds(refresh(staged, next, { unsettled: [ID] }))).toEqual([]);
    const taken = refresh(current, next, { unsettled: [ID], accept: [ID] });
    expect(kinds(taken)).toEqual(["gone"]);
  });

  test("removals of more than half of the list at once wait to be accepted", () => {
    const next = imported([model({ id: "acme/a" })]);
    const found = refresh(imported(three), next);
    expect(kinds(found)).toEqual(["going_waits", "going_waits"]);
    expect(found.manifest.models).toEqual(three);
    const taken = refresh(imported(three), next, { accept: ["acme/b"] });
    expect(kinds(taken)).toEqual(["gone", "going_waits"]);
  });

  test("a removed listing that was edited by hand gets no deprecation date", () => {
    const edited = [...two, model({ id: "acme/c", display_name: "Mine" })];
    const found = refresh({ ...imported(three), models: edited }, imported(two));
    expect(listingIn(found, "acme/c").model.deprecation_date).toBeUndefined();
    expect(kinds(found)).toEqual(["edited"]);
  });
});
