import { describe, expect, test } from "vitest";

import { nameServer } from "../../../test/support/name-server.ts";
import { ForeignNames } from "../../upstream/address-guard.ts";
import { checkWebhookAddress, webhookAddressProblem } from "./webhook-address.ts";

describe("the address of a webhook", () => {
  test.each([
    ["https://example.com"],
    ["https://example.com/hooks?a=b%20c"],
    ["https://example.com:8443/hooks"],
    ["https://1.1.1.1/"],
    ["https://[2606:4700::1111]/"],
  ])("may be %s", (address) => {
    expect(webhookAddressProblem(address, false)).toBeUndefined();
  });

  test.each([
    ["http://example.com/", "https://"],
    ["ftp://example.com/", "https://"],
    ["example.com/hooks", "not a URL"],
    ["https://me:pw@example.com/", "user name or password"],
    ["https://me@example.com/", "user name or password"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com:25/", "port 25"],
    ["https://example.com/a b", "a space"],
    ["https://example.com/\r\nhost: b", "a space"],
    [`https://example.com/${"a".repeat(2_000)}`, "longer than 2000"],
    ["https://127.0.0.1/", "private network"],
    ["https://2130706433/", "private network"],
    ["https://0x7f.1/", "private network"],
    ["https://169.254.169.254/latest", "private network"],
    ["https://10.0.0.8:8443/", "private network"],
    ["https://[::1]/", "private network"],
    ["https://[::ffff:169.254.169.254]/", "private network"],
    ["https://localhost/", "private network"],
    ["https://a.localhost./", "private network"],
  ])("is not %s", (address, reason) => {
    expect(webhookAddressProblem(address, false)).toContain(reason);
  });

  test("may be on the same machine, and plain, where private addresses are allowed", () => {
    expect(webhookAddressProblem("http://127.0.0.1:80/hooks", true)).toBeUndefined();
    expect(webhookAddressProblem("http://me@127.0.0.1/", true)).toContain("user name");
  });

  test("is not a name that has a private address", async () => {
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
