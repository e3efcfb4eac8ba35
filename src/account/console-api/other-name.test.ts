import { expect, test } from "vitest";

import { otherName } from "./guard-request.ts";

const own = "http://127.0.0.1:8081";

test.each([
  ["localhost:8081", "/keys?q=a", `${own}/keys?q=a`],
  ["[::1]:8081", "/", `${own}/`],
])("a browser that came by %s goes to the console's own name", (host, url, there) => {
  expect(otherName({ host, url, consoleUrl: own })).toBe(there);
});

test.each([
  ["the right name", "127.0.0.1:8081", own],
  ["another port, as behind a port mapping", "localhost:9000", own],
  ["a name that is not this machine's", "evil.example:8081", own],
  ["a public console behind a proxy", "localhost:8081", "https://console.example"],
  ["no host at all", undefined, own],
  ["a host that is none", "a b", own],
])("no browser is redirected for %s", (_reason, host, consoleUrl) => {
  expect(otherName({ host, url: "/keys", consoleUrl })).toBeUndefined();
});
