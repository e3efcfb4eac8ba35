import { describe, expect, test } from "vitest";
import { stringify as toYaml } from "yaml";

import type { CatalogIssue } from "./catalog-input.ts";
import type { StatedPool } from "./compile-pools.ts";
import { parsePoolsFile } from "./pools-file.ts";

const file = "pools.yaml";

function poolsOf(text: string): readonly StatedPool[] {
  const read = parsePoolsFile(file, text);
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  expect(read.pools.file).toBe(file);
  return read.pools.pools;
}

function issuesOf(text: string): readonly CatalogIssue[] {
  const read = parsePoolsFile(file, text);
  return read.ok ? [] : read.issues;
}

/** What is wrong with a pool that is right but for these fields; undefined takes one away. */
function wrongWith(change: Readonly<Record<string, unknown>>): readonly string[] {
  const pool = Object.entries({ id: "p", listings: ["acme/m"], concurrent: 1, ...change });
  const present = Object.fromEntries(pool.filter(([, value]) => value !== undefined));
  return issuesOf(toYaml([present])).map(({ pointer, message }) => `${pointer}: ${message}`);
}

describe("a pool file", () => {
  test("states pools by everything that can limit them", () => {
    const text = `
      - id: all-of-it
        listings: [acme/vendor/model.v1, "other/*"]
        org_share: three_quarters
        requests_per_minute: 600
        tokens_per_minute: 2000000
        requests_per_second: 20
        concurrent: 30
        capacity:
          - { type: request, per: day, value: 9000 }
          - { type: completion, per: minute, value: 40 }
      - { id: little_1, listings: [acme/n], org_share: half, concurrent: 1 }
      - { id: nothing, listings: [acme/o] }
    `;
    expect(poolsOf(text)).toEqual([
      {
        id: "all-of-it",
        listings: ["acme/vendor/model.v1", "other/*"],
        orgSharePercent: 75,
        capacity: [
          { type: "request", per: "minute", value: 600 },
          { type: "request", per: "day", value: 9_000 },
          { type: "completion", per: "minute", value: 40 },
        ],
        tokensPerMinute: 2_000_000,
        requestsPerSecond: 20,
        concurrent: 30,
      },
      {
        id: "little_1",
        listings: ["acme/n"],
        orgSharePercent: 50,
        capacity: [],
        concurrent: 1,
      },
      { id: "nothing", listings: ["acme/o"], capacity: [] },
    ]);
  });

  test("may state none", () => {
    expect(poolsOf("[]")).toEqual([]);
  });

  test.each([
    ["is empty", ""],
    ["is not a list", "pools: []"],
    ["is one word", "none"],
  ])("that %s is refused with what it has to be", (_, text) => {
    const message = "must be a list of pools; write [] for none";
    expect(issuesOf(text)).toEqual([{ file, pointer: "", message }]);
  });

  test("that is not YAML is refused with why and where", () => {
    expect(issuesOf("- id: [")).toEqual([
      { file, pointer: "", message: expect.stringMatching(/^it is not YAML: .*line 1/) as string },
    ]);
    expect(issuesOf("- {id: a, id: b}")[0]?.message).toContain("it is not YAML: Map keys must be");
  });

  test("is refused with everything that is wrong with it at once", () => {
    const text = toYaml([{ id: "P", concurrent: 0 }, "pool", { id: "p", listings: [7] }]);
    expect(issuesOf(text).map(({ pointer }) => pointer)).toEqual([
      "/0/listings",
      "/0/id",
      "/0/concurrent",
      "/1",
      "/2/listings/0",
    ]);
  });
});

const whole = "must be a whole number above 0";
const listing =
  "must be <provider id>/<model id>, or <provider id>/* for all listings of a provider";
const fields =
  "is not a known field; the fields are id, listings, org_share, requests_per_minute, tokens_per_minute, requests_per_second, concurrent, capacity";

describe("a wrong pool names the field and the rule", () => {
  test.each<[Readonly<Record<string, unknown>>, readonly string[]]>([
    [{ id: undefined }, ["/0/id: is missing"]],
    [{ listings: undefined }, ["/0/listings: is missing"]],
    [{ listings: [] }, ["/0/listings: must be a list with at least one entry"]],
    [{ listings: "acme/m" }, ["/0/listings: must be a list with at least one entry"]],
    [{ listings: ["acme"] }, [`/0/listings/0: ${listing}`]],
    [{ listings: ["acme/m", "*"] }, [`/0/listings/1: ${listing}`]],
    [{ listings: ["acme/m*"] }, [`/0/listings/0: ${listing}`]],
    [{ listings: ["*/m"] }, [`/0/listings/0: ${listing}`]],
    [{ listings: [null] }, [`/0/listings/0: ${listing}`]],
    [{ rpm: 5 }, [`/0/rpm: ${fields}`]],
    [{ "a/b~c": 5 }, [`/0/a~1b~0c: ${fields}`]],
    [{ org_share: "third" }, ["/0/org_share: must be one of half, three_quarters"]],
    [{ org_share: 50 }, ["/0/org_share: must be one of half, three_quarters"]],
    [{ concurrent: 0 }, [`/0/concurrent: ${whole}`]],
    [{ concurrent: -1 }, [`/0/concurrent: ${whole}`]],
    [{ concurrent: 1.5 }, [`/0/concurrent: ${whole}`]],
    [{ concurrent: "8" }, [`/0/concurrent: ${whole}`]],
    [{ concurrent: null }, [`/0/concurrent: ${whole}`]],
    [{ requests_per_minute: 0 }, [`/0/requests_per_minute: ${whole}`]],
    [{ tokens_per_minute: 2 ** 53 }, [`/0/tokens_per_minute: ${whole}`]],
    [{ requests_per_second: true }, [`/0/requests_per_second: ${whole}`]],
    [{ capacity: [] }, ["/0/capacity: must be a list with at least one entry"]],
    [
      { capacity: ["request"] },
      ["/0/capacity/0: must be an object with the fields type, per, value"],
    ],
    [
      { capacity: [{ type: "image", per: "year", value: 0, unit: "token" }] },
      [
        "/0/capacity/0/unit: is not a known field; the fields are type, per, value",
        "/0/capacity/0/type: must be one of request, prompt, completion",
        "/0/capacity/0/per: must be one of minute, hour, day",
        `/0/capacity/0/value: ${whole}`,
      ],
    ],
    [
      {
        capacity: [
          { type: "prompt", per: "day", value: 1 },
          { type: "prompt", per: "day", value: 2 },
        ],
      },
      ["/0/capacity/1: states prompt per day a second time; remove one of them"],
    ],
    [
      { requests_per_minute: 9, capacity: [{ type: "request", per: "minute", value: 9 }] },
      ["/0/capacity/0: states request per minute a second time; remove one of them"],
    ],
  ])("%j", (change, expected) => {
    expect(wrongWith(change)).toEqual(expected);
  });

  test.each(["", "Pool", "-p", "a/b", "a{b}", "a@b", "p".repeat(65), 7])("id %j", (id) => {
    expect(wrongWith({ id })).toEqual([
      "/0/id: must be 1 to 64 of a-z, 0-9, - and _, a letter or digit first",
    ]);
  });
});
