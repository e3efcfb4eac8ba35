import { expect, test } from "vitest";

import type { Catalog, Deployment } from "../../catalog/index.ts";
import { microUsd } from "../../kernel/index.ts";
import { catalogNotices } from "./operator-desk-routes.ts";

function catalogOf(deployments: readonly Partial<Deployment>[]): Pick<Catalog, "models"> {
  return { models: [{ deployments }] } as unknown as Catalog;
}

const RATES = { cachedPrompt: 1n, cacheWrite: 1n, completion: 1n, internalReasoning: 1n };
const sheet = (prompt: bigint) => ({ pinId: "", prompt, ...RATES });

test("a listing that is or was sold below cost is reported with its loss", () => {
  const catalog = catalogOf([
    { id: "p/dear", prices: { ...sheet(1n), purchase: sheet(2n) } },
    { id: "p/fair", prices: { ...sheet(2n), purchase: sheet(1n) } },
  ]);
  const loss = { providerId: "p", attempts: 1 };
  const texts = catalogNotices(
    catalog,
    [
      { ...loss, modelId: "dear", lostMicroUsd: microUsd(1_500_000n) },
      { ...loss, modelId: "raised", lostMicroUsd: microUsd(2n) },
    ],
    ["p/late waits."],
  ).map(({ text }) => text);
  expect(texts).toEqual([
    "p/dear is sold for less than its provider is owed: $1.50 lost in 7 days.",
    "p/raised was sold for less than its provider is owed: $0.000002 lost in 7 days.",
    "p/late waits.",
  ]);
  expect(catalogNotices(catalog, [], [])[0]?.text).toContain("$0.00 lost");
});

test("listings whose price check is late are named in one notice", () => {
  const checked = { on: "2026-08-01", by: "page", age: "late", ageUntilMs: 0 } as const;
  const catalog = catalogOf([
    { id: "p/a", prices: null, checked },
    { id: "p/b", prices: null, checked: { ...checked, age: "recent" } },
  ]);
  const [notice, ...rest] = catalogNotices(catalog, [], []);
  expect(rest).toEqual([]);
  expect(notice).toMatchObject({ kind: "stale_prices" });
  expect(notice?.text).toMatch(/: p\/a \(2026-08-01\)\. Run/);
});
