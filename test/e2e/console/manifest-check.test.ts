import { expect, test } from "vitest";

import type { HttpAnswer } from "../../support/http-call.ts";
import { at } from "../../support/http-call.ts";
import { withProviderConsole } from "./provider-fixture.ts";

const fixture = withProviderConsole({ settings: { trustedProxies: "127.0.0.1" } });

function check(address: string): Promise<HttpAnswer> {
  return fixture.stranger().ask("POST /api/manifest-check", {
    body: { manifest: "{}" },
    headers: { "x-forwarded-for": address },
  });
}

test("a visitor may check twenty manifests a minute, and other visitors are not affected", async () => {
  const first = await check("2001:db8:1:2::1");
  expect([first.status, at(first.json, "listings")]).toEqual([200, null]);
  // Another address of the same subscriber.
  for (let turn = 2; turn <= 20; turn += 1) {
    expect((await check(`2001:db8:1:2::${turn}`)).status).toBe(200);
  }
  const refused = await check("2001:db8:1:2:ffff::1");
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "60"]);
  expect(at(refused.json, "error.message")).toContain("`tokenmarket manifest check`");
  expect((await check("2001:db8:1:3::1")).status).toBe(200);
  expect((await check("198.51.100.7")).status).toBe(200);
});
