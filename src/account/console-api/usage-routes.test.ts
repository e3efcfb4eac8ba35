import { expect, test } from "vitest";

import type { KeyId, OrgId } from "../../kernel/index.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { onlyTagged, readFilters } from "./usage-routes.ts";

const NOW_MS = Date.UTC(2026, 10, 24);
const KEYS = [
  { keyId: "k1" as KeyId, tags: ["ci", "eu"] },
  { keyId: "k2" as KeyId, tags: ["eu"] },
  { keyId: "k3" as KeyId, tags: [] },
];

test.each([
  ["the keys that have it", {}, "ci", ["k1"]],
  ["the keys with any of several tags", {}, "ci,eu", ["k1", "k2"]],
  ["only the tagged ones of the requested keys", { key: "k2,k3" }, "ci,eu", ["k2"]],
  ["no key if none has the tag", {}, "us", []],
  ["no managed key", { key: "playground" }, "ci,eu", []],
  ["a requested customer key, but no managed key", { key: "playground,k1" }, "ci", ["k1"]],
])("a tag filter selects %s", (_, filters, tag, keyIds) => {
  const filter = readFilters("org" as OrgId, filters, NOW_MS);
  if (filter instanceof ConsoleRefusal) throw new Error("these filters are refused");
  const tagged = onlyTagged(filter, tag, KEYS);
  expect(tagged.keyIds).toEqual(keyIds);
  expect(tagged.managed).toBeUndefined();
});
