import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";

import { nameServer } from "../../../test/support/name-server.ts";
import { ForeignNames } from "../../upstream/address-guard.ts";
import { createWebhookSecret } from "./webhook-secrets.ts";
import { checkWebhookAddress, webhookAddressProblem, webhookHeaders } from "./webhook-sender.ts";

const NOW_S = Math.floor(Date.now() / 1_000);

test("the standardwebhooks library verifies our signature of any JSON body, and computes the same signature", () => {
  fc.assert(
    fc.property(fc.json(), fc.stringMatching(/^[0-9a-f]{1,24}$/), (body, hex) => {
      const secret = createWebhookSecret();
      const content = { id: `evt_${hex}`, timestampS: NOW_S, body };
      const headers = webhookHeaders(content, [secret]);
      const library = new Webhook(secret);
      expect(library.verify(body, headers)).toEqual(JSON.parse(body));
      const theirs = library.sign(content.id, new Date(NOW_S * 1_000), body);
      expect(headers["webhook-signature"]).toBe(theirs);
    }),
  );
});

test("a webhook secret is whsec_ and 32 random bytes in base64, and no two are equal", () => {
  const secrets = Array.from({ length: 100 }, () => createWebhookSecret());
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(new Set(secrets).size).toBe(100);
});

describe("the address of a webhook", () => {
  test.each([
    ["https://example.com"],
    ["https://example.com:8443/hooks?a=b%20c"],
    ["https://[2606:4700::1111]/"],
  ])("may be %s", (address) => {
    expect(webhookAddressProblem(address, false)).toBeUndefined();
  });

  test.each([
    ["http://example.com/", "https://"],
    ["example.com/hooks", "not a URL"],
    ["https://me@example.com/", "user name or password"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com:25/", "port 25"],
    ["https://example.com/a b", "a space"],
    ["https://example.com/\r\nhost: b", "a space"],
    [`https://example.com/${"a".repeat(2_000)}`, "longer than 2000"],
    ["https://127.0.0.1/", "private network"],
    ["https://2130706433/", "private network"],
    ["https://[::ffff:169.254.169.254]/", "private network"],
    ["https://localhost/", "private network"],
    ["https://a.localhost./", "private network"],
  ])("must not be %s", (address, reason) => {
    expect(webhookAddressProblem(address, false)).toContain(reason);
  });

  test("may be plain http on this machine if private addresses are allowed, but without a user name", () => {
    expect(webhookAddressProblem("http://127.0.0.1:80/hooks", true)).toBeUndefined();
    expect(webhookAddressProblem("http://me@127.0.0.1/", true)).toContain("user name");
  });

  test("must not be a name that resolves to a private address", async () => {
    const { address } = await nameServer("10.1.2.3");
    const check = (servers: readonly string[]): ReturnType<typeof checkWebhookAddress> => {
      const find = new ForeignNames(servers).of("org_1");
      return checkWebhookAddress("https://hooks.example/", { allowPrivate: false, find });
    };
    expect(await check([address])).toEqual({ problem: expect.stringContaining("private network") });
    const { address: open } = await nameServer("93.184.215.14");
    expect(await check([open])).toBeUndefined();
  });
});
