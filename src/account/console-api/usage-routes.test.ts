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
  ["those with any of several", {}, "ci,eu", ["k1", "k2"]],
  ["those among the keys that are asked for", { key: "k2,k3" }, "ci,eu", ["k2"]],
  ["no key where none has it", {}, "us", []],
  ["no managed key", { key: "playground" }, "ci,eu", []],
  ["none of the managed beside the others", { key: "playground,k1" }, "ci", ["k1"]],
])("a tag stands for %s", (_, filters, tag, keyIds) => {
  const filter = readFilters("org" as OrgId, filters, NOW_MS);
  if (filter instanceof ConsoleRefusal) throw new Error("these filters are refused");
  const tagged = onlyTagged(filter, tag, KEYS);
  expect(tagged.keyIds).toEqual(keyIds);
  expect(tagged.managed).toBeUndefined();
});
