import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { UPSTREAM_SETTINGS } from "../kernel/config/upstream-settings.ts";
import { keyVerdict, readOutbound } from "./check-connection.ts";

test.each([
  [200, "accepted"],
  [301, "unclear"],
  [401, "refused"],
  [402, "refused"],
  [403, "refused"],
  [404, "unclear"],
  [500, "unclear"],
])("status %i means that the key is %s", (status, verdict) => {
  expect(keyVerdict(status)).toBe(verdict);
});

const NOTHING = {
  upstreamIdleMs: 4_000,
  upstreamProxy: "",
  upstreamNoProxy: "",
  upstreamCaFile: "",
  upstreamCertFile: "",
  upstreamKeyFile: "",
};

test("a provider has its own outbound settings, and the common ones where it has none", () => {
  const folder = newFolder("outbound");
  const { key, cert } = selfSigned();
  const [certFile, keyFile] = [join(folder, "a.pem"), join(folder, "a.key")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const { all, byProvider } = readOutbound({
    ...NOTHING,
    upstreamProxy: "http://u:p%2C=@proxy:3128, local=, other=http://second:1",
    upstreamCertFile: `acme=${certFile}`,
    upstreamKeyFile: `acme=${keyFile}`,
  });
  expect(all).toEqual({ proxy: "http://u:p%2C=@proxy:3128" });
  expect([...byProvider].map(([id, { proxy }]) => [id, proxy])).toEqual([
    ["local", ""],
    ["other", "http://second:1"],
    ["acme", "http://u:p%2C=@proxy:3128"],
  ]);
  expect(byProvider.get("acme")?.secureContext).toBeDefined();
  // The proxy and other origins use `trustOnly`, which never has the client certificate.
  expect(byProvider.get("acme")?.trustOnly).toBeUndefined();
});

test("a certificate file that is missing, invalid or without its key stops the start", () => {
  const read = (more: object) => () => readOutbound({ ...NOTHING, ...more });
  expect(read({ upstreamCaFile: "/no/such.pem" })).toThrow("(ENOENT): /no/such.pem");
  expect(read({ upstreamCertFile: "/a.pem" })).toThrow("need each other");
  const notPem = import.meta.filename;
  expect(read({ upstreamCertFile: notPem, upstreamKeyFile: notPem })).toThrow(/cannot be used/);
});

test.each([
  ["upstreamProxy", "http://proxy:3128,a=,b=https://p", true],
  ["upstreamProxy", "", true],
  ["upstreamProxy", "proxy:3128", false],
  ["upstreamProxy", "socks5://proxy:1", false],
  ["upstreamProxy", "a=proxy", false],
  ["upstreamProxy", "http://one:1,http://two:2", false],
  ["upstreamProxy", "a=http://one:1,a=http://two:2", false],
  ["webhookNameServers", "", true],
  ["webhookNameServers", "1.1.1.1, 10.0.0.1:5353,2606:4700::1111,[2606:4700::1111]:53", true],
  ["webhookNameServers", "ns.example", false],
  ["webhookNameServers", "1.1.1.1;2.2.2.2", false],
] as const)("the setting %s accepts '%s': %s", (setting, value, isValid) => {
  expect(UPSTREAM_SETTINGS[setting].problem?.(value) === undefined).toBe(isValid);
});
