import { describe, expect, test } from "vitest";
import { stringify as toYaml } from "yaml";

import type { CatalogIssue, ManifestFile } from "./catalog-input.ts";
import type { PoolDeclaration } from "./catalog.ts";
import { compileCatalog } from "./compile-catalog.ts";
import { parsePoolsFile, type StatedPool } from "./compile-pools.ts";
import {
  compileFiles,
  decisionsManifest,
  manifestFile,
  edited,
  type Edits,
  type Json,
  textManifest,
} from "../../test/fixtures/manifest/samples.ts";

const minute600 = { type: "request", per: "minute", value: 600 } as const;

function writeManifest(provider: string, document: Json, edits: Edits = {}): ManifestFile {
  const named: Edits = { "/provider/id": provider, "/endpoint/api_key_env": undefined };
  return manifestFile(`${provider}.json`, edited(document, { ...named, ...edits }));
}

/** `text/acme/quill` declares a capacity, `text/acme/nib` none; `judge` has two decision models. */
const manifests = [
  writeManifest("text", textManifest()),
  writeManifest("judge", decisionsManifest()),
  writeManifest("twin", textManifest(), { "/provider/listing": "private" }),
];
const quill = "text/acme/quill";
const nib = "text/acme/nib";

function stated(id: string, listings: readonly string[], more?: Partial<StatedPool>): StatedPool {
  return { id, listings, capacity: [], ...more };
}

function compiled(...pools: readonly StatedPool[]) {
  return compileFiles(manifests, { pools: { file: "pools.yaml", pools } });
}

function poolOf(deploymentId: string, ...pools: readonly StatedPool[]): PoolDeclaration {
  const { deployments } = compiled(...pools).catalog;
  const found = deployments.find(({ id }) => id === deploymentId);
  if (found === undefined) throw new Error(`no ${deploymentId}`);
  return found.pool;
}

function poolIssues(...pools: readonly StatedPool[]): readonly string[] {
  const file = { file: "pools.yaml", pools };
  const input = { manifests, hasKey: () => true, today: "2026-11-20", pools: file };
  const outcome = compileCatalog(input);
  return outcome.ok ? [] : outcome.issues.map(toText);
}

function toText({ file, pointer, message }: CatalogIssue): string {
  expect(file).toBe("pools.yaml");
  return `${pointer}: ${message}`;
}

describe("a deployment in no stated pool", () => {
  test("has its own pool with the declared capacity, half of it per organization", () => {
    expect(poolOf(quill)).toEqual({
      id: quill,
      capacity: [minute600, { type: "prompt", per: "day", value: 9_000_000 }],
      orgSharePercent: 50,
    });
    expect(poolOf(nib)).toEqual({ id: nib, capacity: [], orgSharePercent: 50 });
  });

  test("lets one organization use three quarters of its pool, instead of half, if it is a decisions listing", () => {
    expect(poolOf("judge/acme/judge").orgSharePercent).toBe(75);
  });
});

describe("a stated pool", () => {
  test("is the same for all its listings, and has only its own limits", () => {
    const limits = {
      capacity: [{ type: "prompt", per: "hour", value: 70 }],
      tokensPerMinute: 10,
      requestsPerSecond: 20,
      concurrent: 30,
    } as const;
    const { deployments } = compiled(stated("p", [quill, nib], limits)).catalog;
    const members = deployments.filter((each) => each.pool.id === "p");
    expect(members.map(({ id }) => id).sort()).toEqual([nib, quill]);
    expect(members[0]?.pool).toBe(members[1]?.pool);
    expect(members[0]?.pool).toEqual({ id: "p", ...limits, orgSharePercent: 50 });
  });

  test("takes every listing of a provider, also those that are not routed", () => {
    const { deployments } = compiled(stated("p", ["twin/*"], { concurrent: 1 })).catalog;
    const members = deployments.filter((each) => each.pool.id === "p").map(({ id }) => id);
    expect(members.sort()).toEqual(["twin/acme/nib", "twin/acme/quill"]);
  });

  test("without a limit takes the capacity of the only listing that declares one", () => {
    expect(poolOf(nib, stated("p", ["text/*"]))).toEqual({
      id: "p",
      capacity: poolOf(quill).capacity,
      orgSharePercent: 50,
    });
  });

  /** Compiles the pool `shared` of all listings of `text`, whose manifest has these edits. */
  function sharedAfter(edits: Edits) {
    const files = [writeManifest("text", textManifest(), edits)];
    const pools = { file: "pools.yaml", pools: [stated("shared", ["text/*"])] };
    return compileFiles(files, { pools }).catalog.deployments.map(({ id, pool }) => ({ id, pool }));
  }

  test("keeps the capacity that a listing declares after that listing's deprecation date", () => {
    const [only, ...others] = sharedAfter({ "/models/0/deprecation_date": "2026-11-19" });
    expect([only?.id, others]).toEqual([nib, []]);
    expect(only?.pool.capacity).toContainEqual(minute600);
  });

  test("has the capacity of its only current listing, whatever listings of the past declare", () => {
    const capacity = [{ ...minute600, value: 900 }];
    const past = { "/models/1/capacity": [minute600], "/models/1/deprecation_date": "2026-11-19" };
    const current = sharedAfter({ ...past, "/models/0/capacity": capacity });
    expect(current).toMatchObject([{ id: quill, pool: { capacity } }]);
  });

  test.each<[string, readonly string[], string, number]>([
    ["three quarters of decision models", ["judge/*"], "judge/acme/judge", 75],
    ["half of text models", ["text/*"], quill, 50],
    ["half of a mixture", ["judge/*", "text/*"], "judge/acme/judge", 50],
  ])("gives an organization %s", (_, listings, member, percent) => {
    const pool = stated("p", listings, { concurrent: 4 });
    expect(poolOf(member, pool).orgSharePercent).toBe(percent);
  });

  test("gives an organization the stated share", () => {
    const pool = stated("p", ["judge/*"], { concurrent: 4, orgSharePercent: 50 });
    expect(poolOf("judge/acme/judge", pool).orgSharePercent).toBe(50);
  });

  test("is noted if it names an unlisted model, and nothing else changes", () => {
    const { catalog, notes } = compiled(stated("p", ["gone/*", "text/acme/gone"]));
    expect(notes.filter(({ reason }) => reason === "unknown_listing")).toMatchObject([
      {
        file: "pools.yaml",
        deploymentId: "gone/*",
        message: "pool p names gone/*, which no manifest lists; correct it or remove it",
      },
      { deploymentId: "text/acme/gone" },
    ]);
    expect(catalog.deployments.some((each) => each.pool.id === "p")).toBe(false);
  });

  test("changes the build id when anything in it changes", () => {
    const builds = [
      [],
      [stated("p", [quill], { concurrent: 1 })],
      [stated("p", [quill], { concurrent: 2 })],
      [stated("q", [quill], { concurrent: 2 })],
      [stated("q", [nib], { concurrent: 2 })],
    ].map((pools) => compiled(...pools).catalog.buildId);
    expect(new Set(builds).size).toBe(builds.length);
    expect(compiled(stated("p", [quill], { concurrent: 1 })).catalog.buildId).toBe(builds[1]);
  });
});

describe("stated pools are refused when", () => {
  test("a listing is in two pools, and the message names both", () => {
    const pools = [
      stated("one", [nib, "text/*"], { concurrent: 1 }),
      stated("two", ["judge/*", quill], { concurrent: 1 }),
    ];
    expect(poolIssues(...pools)).toEqual([
      `/1/listings/1: ${quill} is in the pools one and two; remove it from one of them`,
    ]);
  });

  test("two pools have the same id", () => {
    const pools = [
      stated("one", [nib], { concurrent: 1 }),
      stated("one", [quill], { concurrent: 1 }),
    ];
    expect(poolIssues(...pools)).toEqual([
      "/1/id: pool id one is already used by /0; merge the two or rename one",
    ]);
  });

  test.each<[string, readonly string[], string]>([
    ["no limit and no capacity is stated", [nib], "none of its listings declares a capacity"],
    [
      "no limit is stated and two listings declare a capacity",
      [quill, "twin/acme/quill"],
      `${quill} and twin/acme/quill each declare a capacity of their own`,
    ],
  ])("%s", (_, listings, reason) => {
    const message = `pool p states no limit, and ${reason}; state one, such as concurrent: 8`;
    expect(poolIssues(stated("p", listings))).toEqual([`/0: ${message}`]);
  });
});

function poolsOf(text: string): readonly StatedPool[] {
  const read = parsePoolsFile("pools.yaml", text);
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  expect(read.pools.file).toBe("pools.yaml");
  return read.pools.pools;
}

function findIssues(text: string): readonly string[] {
  const read = parsePoolsFile("pools.yaml", text);
  return read.ok ? [] : read.issues.map(toText);
}

describe("a pool file", () => {
  test("states every kind of limit of a pool", () => {
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
      { id: "little_1", listings: ["acme/n"], orgSharePercent: 50, capacity: [], concurrent: 1 },
      { id: "nothing", listings: ["acme/o"], capacity: [] },
    ]);
  });

  test("may state no pools", () => {
    expect(poolsOf("[]")).toEqual([]);
  });

  test.each([
    ["is empty", ""],
    ["is not a list", "pools: []"],
  ])("that %s is refused with the form that it must have", (_, text) => {
    const message = "must be a list of pools; write [] for none";
    expect(findIssues(text)).toEqual([`: ${message}`]);
  });

  test("is refused with the reason and the place if it is not YAML", () => {
    const [issue, ...others] = findIssues("- id: [");
    expect(issue).toMatch(/^: it is not YAML: .*line 1/);
    expect(others).toEqual([]);
    expect(findIssues("- {id: a, id: b}")[0]).toContain("it is not YAML: Map keys must be");
  });

  test("is refused with all its problems at once", () => {
    const text = toYaml([{ id: "P", concurrent: 0 }, "pool", { id: "p", listings: [7] }]);
    const places = findIssues(text).map((issue) => issue.split(":")[0]);
    expect(places).toEqual(["/0/listings", "/0/id", "/0/concurrent", "/1", "/2/listings/0"]);
  });
});

/** Returns the problems of a valid pool with `change` applied; undefined removes a field. */
function wrongWith(change: Readonly<Record<string, unknown>>): readonly string[] {
  const pool = Object.entries({ id: "p", listings: ["acme/m"], concurrent: 1, ...change });
  const present = Object.fromEntries(pool.filter(([, value]) => value !== undefined));
  return findIssues(toYaml([present]));
}

const whole = "must be a whole number above 0";
const listing =
  "must be <provider id>/<model id>, or <provider id>/* for all listings of a provider";
const fields =
  "is not a known field; the fields are id, listings, org_share, requests_per_minute, tokens_per_minute, requests_per_second, concurrent, capacity";
const promptsPerDay = { type: "prompt", per: "day", value: 1 };
const requestsPerMinute = { type: "request", per: "minute", value: 9 };
const again = "a second time; remove one of them";

describe("an invalid pool is refused with the field and the rule", () => {
  test.each<[Readonly<Record<string, unknown>>, string]>([
    [{ listings: undefined }, "/0/listings: is missing"],
    [{ listings: [] }, "/0/listings: must be a list with at least one entry"],
    [{ listings: ["acme"] }, `/0/listings/0: ${listing}`],
    [{ listings: ["acme/m*"] }, `/0/listings/0: ${listing}`],
    [{ rpm: 5 }, `/0/rpm: ${fields}`],
    [{ "a/b~c": 5 }, `/0/a~1b~0c: ${fields}`],
    [{ org_share: "third" }, "/0/org_share: must be one of half, three_quarters"],
    [{ concurrent: 0 }, `/0/concurrent: ${whole}`],
    [{ concurrent: 1.5 }, `/0/concurrent: ${whole}`],
    [{ requests_per_minute: 0 }, `/0/requests_per_minute: ${whole}`],
    [{ tokens_per_minute: 2 ** 53 }, `/0/tokens_per_minute: ${whole}`],
    [{ capacity: [] }, "/0/capacity: must be a list with at least one entry"],
    [{ capacity: [7] }, "/0/capacity/0: must be an object with the fields type, per, value"],
    [
      { capacity: [promptsPerDay, { ...promptsPerDay, value: 2 }] },
      `/0/capacity/1: states prompt per day ${again}`,
    ],
    [
      { requests_per_minute: 9, capacity: [requestsPerMinute] },
      `/0/capacity/0: states request per minute ${again}`,
    ],
  ])("%j", (change, expected) => {
    expect(wrongWith(change)).toEqual([expected]);
  });

  test("in every field of a capacity", () => {
    const capacity = [{ type: "image", per: "year", value: 0, unit: "token" }];
    expect(wrongWith({ capacity })).toEqual([
      "/0/capacity/0/unit: is not a known field; the fields are type, per, value",
      "/0/capacity/0/type: must be one of request, prompt, completion",
      "/0/capacity/0/per: must be one of minute, hour, day",
      `/0/capacity/0/value: ${whole}`,
    ]);
  });

  test.each(["", "Pool", "-p", "a/b", "a{b}", "a@b", "p".repeat(65), 7])("id %j", (id) => {
    expect(wrongWith({ id })).toEqual([
      "/0/id: must be 1 to 64 of a-z, 0-9, - and _, a letter or digit first",
    ]);
  });
});
