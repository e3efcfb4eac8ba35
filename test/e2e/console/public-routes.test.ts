import { beforeAll, describe, expect, test } from "vitest";

import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { at, listAt, type HttpAnswer } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { withProviderConsole, withPerson } from "./provider-fixture.ts";

const shown = withProviderConsole({
  settings: { listingsPublicFigures: true, trustedProxies: "127.0.0.1" },
});
const OWN = "GET /api/console/listing-figures";
const SHARED = "GET /api/listing-figures.json";
const ann = withPerson(shown, "ann");
const bob = withPerson(shown, "bob");

/** Writes yesterday's sums: calls in each of the 24 hours, and a success in 12 of them. */
async function sumUp(orgId: OrgId, succeeded: number, failed: number): Promise<void> {
  await runSql(
    shown.gateway,
    `insert into listing_day_sum values ($1, (now() at time zone 'utc')::date - 1, 'prov-a', 'test/a',
      $2::int + $3::int, $2, $3, (1 << 24) - 1, (1 << 12) - 1, $2, 500, 10000, '{3}', array[$2::int])`,
    [orgId, succeeded, failed],
  );
}

beforeAll(async () => {
  await sumUp(ann.orgId, 3, 1);
  await sumUp(bob.orgId, 50, 0);
  await runSql(
    shown.gateway,
    `insert into listing_public_day values ('prov-a', 'test/a', (now() at time zone 'utc')::date - 1,
      299, 1, (1 << 24) - 1, (1 << 23) - 1, 0, 0, 0, '{}', '{}'),
      ('prov-a', 'gone/model', (now() at time zone 'utc')::date - 1,
      300, 0, (1 << 24) - 1, (1 << 24) - 1, 0, 0, 0, '{}', '{}')`,
    [],
  );
});

describe("a listing's figures for an organization", () => {
  test("count that organization's calls only, and are split by day when one model is requested", async () => {
    const { json } = await ann.do(`${OWN}?model=test/a`);
    const listings = listAt(json, "listings");
    expect(listings).toHaveLength(1);
    expect(listings[0]).toMatchObject({
      provider: "prov-a",
      calls: 4,
      success: 0.75,
      uptime: 0.5,
      tokens_per_second: 50,
    });
    expect(listAt(listings[0], "days")).toHaveLength(1);
    const all = await ann.do(OWN);
    expect(listAt(listAt(all.json, "listings")[0], "days")).toEqual([]);
  });
});

describe("a listing's figures for all customers", () => {
  test("have no counts, are rounded down, and leave out former listings", async () => {
    const { json, headers } = await shown.stranger().ask(SHARED);
    expect(at(json, "is_shown")).toBe(true);
    expect(listAt(json, "listings")).toEqual([
      expect.objectContaining({
        provider: "prov-a",
        model: "test/a",
        calls: null,
        success: 0.99,
        uptime: 0.95,
        share_of_calls: 1,
        days: [],
        hours: [],
        ttft_p50_ms: null,
      }),
    ]);
    const together = { provider: "prov-a", share_of_calls: 1, success: 0.99, uptime: 0.95 };
    expect(listAt(json, "providers")).toEqual([expect.objectContaining(together)]);
    const ofModel = await shown.stranger().ask(`${SHARED}?model=test/a`);
    expect(listAt(listAt(ofModel.json, "listings")[0], "days")).toHaveLength(1);
    const ofOther = await shown.stranger().ask(`${SHARED}?model=test/b`);
    expect(listAt(ofOther.json, "listings")).toEqual([]);
    expect(headers["cache-control"]).toMatch(/public, max-age=\d+/);
  });
});

function check(address: string): Promise<HttpAnswer> {
  return shown.stranger().ask("POST /api/manifest-check", {
    body: { manifest: "{}" },
    headers: { "x-forwarded-for": address },
  });
}

test("a visitor's /64 network may check 20 manifests a minute, and other networks are not affected", async () => {
  const first = await check("2001:db8:1:2::1");
  expect([first.status, at(first.json, "listings")]).toEqual([200, null]);
  // These are other addresses in the network of the same subscriber.
  for (let turn = 2; turn <= 20; turn += 1) {
    expect((await check(`2001:db8:1:2::${turn}`)).status).toBe(200);
  }
  const refused = await check("2001:db8:1:2:ffff::1");
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "60"]);
  expect(at(refused.json, "error.message")).toContain("`tokenmarket manifest check`");
  expect((await check("2001:db8:1:3::1")).status).toBe(200);
  expect((await check("198.51.100.7")).status).toBe(200);
});
