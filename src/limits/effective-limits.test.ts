import { describe, expect, test } from "vitest";
import type { KeyId, OrgId } from "../core/ids.ts";
import {
  keyRequestsPerMinute,
  limitScopes,
  requestsPerMinuteCeilingOf,
  type LimitedKey,
} from "./effective-limits.ts";

const limitScopesOf = limitScopes();

const consoleKey: LimitedKey = {
  orgId: "org_1" as OrgId,
  keyId: "key_1" as KeyId,
  keyOrigin: "console",
  requestsPerMinuteCeiling: 300,
  funded: true,
};

describe("effective limits", () => {
  test("a funded console key runs at 300 a minute, a million tokens and eight at once", () => {
    const limits = { requestsPerMinute: 300, tokensPerMinute: 1_000_000, concurrent: 8 };
    expect(limitScopesOf(consoleKey)).toEqual([
      { scope: "key", id: "key:key_1", limits, countsRequests: true },
      { scope: "org", id: "org:org_1", limits, countsRequests: true },
    ]);
  });

  test.each([
    ["the ceiling holds", { requestsPerMinuteCeiling: 60 }, 60],
    ["a self-set limit lowers", { requestsPerMinute: 5 }, 5],
    ["a self-set limit cannot raise", { requestsPerMinute: 900 }, 300],
    ["without credit: twenty", { funded: false }, 20],
    ["without credit a lower self-set limit holds", { funded: false, requestsPerMinute: 5 }, 5],
    ["an optimize key is not exempt", { funded: false, keyOrigin: "optimize" as const }, 20],
    [
      "the playground key is exempt",
      { funded: false, keyOrigin: "playground" as const, requestsPerMinuteCeiling: 60 },
      60,
    ],
  ])("%s", (_name, change, expected) => {
    expect(keyRequestsPerMinute({ ...consoleKey, ...change })).toBe(expected);
  });

  test("an organization without credit runs at twenty a minute, all keys together", () => {
    const [, org] = limitScopesOf({ ...consoleKey, funded: false });
    expect(org?.limits.requestsPerMinute).toBe(20);
    expect(org?.countsRequests).toBe(true);
  });

  test("the playground key neither uses up nor is stopped by that twenty", () => {
    const [, org] = limitScopesOf({ ...consoleKey, funded: false, keyOrigin: "playground" });
    expect(org?.countsRequests).toBe(false);
    expect(org?.limits.concurrent).toBe(8);
  });

  test("the same record gives the very same scopes", () => {
    expect(limitScopesOf(consoleKey)).toBe(limitScopesOf(consoleKey));
  });

  test.each([
    ["trial", 20],
    ["console", 300],
    ["identity", 300],
    ["playground", 60],
    ["optimize", 60],
  ] as const)("a new %s key may make %i requests a minute", (origin, ceiling) => {
    expect(requestsPerMinuteCeilingOf(origin)).toBe(ceiling);
  });
});

test("an operator's configured limits replace the specified ones, a key's own lower limit stays", () => {
  const configured = limitScopes({
    orgRequestsPerMinute: 1_000,
    unfundedRequestsPerMinute: 10,
    keyRequestsPerMinute: 500,
    tokensPerMinute: 7,
    concurrentRequests: 2,
  });
  const limits = { tokensPerMinute: 7, concurrent: 2 };
  expect(configured(consoleKey)).toMatchObject([
    { scope: "key", limits: { ...limits, requestsPerMinute: 500 } },
    { scope: "org", limits: { ...limits, requestsPerMinute: 1_000 } },
  ]);
  const [lowered] = configured({ ...consoleKey, requestsPerMinute: 5 });
  expect(lowered?.limits.requestsPerMinute).toBe(5);
});
