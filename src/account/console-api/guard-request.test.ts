import { describe, expect, test } from "vitest";

import {
  foreignOriginProblem,
  isOperator,
  otherName,
  staleSignInProblem,
} from "./guard-request.ts";

const CONSOLE = "https://console.example";
const JSON_TYPE = { "content-type": "application/json" };
const OWN = { ...JSON_TYPE, origin: CONSOLE };

function status(method: string, headers: Record<string, string>): number | undefined {
  return foreignOriginProblem({ method, headers }, CONSOLE)?.status;
}

describe("a request that may change something", () => {
  test.each<[string, Record<string, string>, number | undefined]>([
    [
      "from a page of the console passes",
      { ...JSON_TYPE, "sec-fetch-site": "same-origin" },
      undefined,
    ],
    ["with the console's origin passes", OWN, undefined],
    [
      "with a charset in its content type passes",
      { ...OWN, "content-type": "application/json; charset=utf-8" },
      undefined,
    ],
    ["from another site is refused with 403", { ...OWN, "sec-fetch-site": "cross-site" }, 403],
    ["from a sibling site is refused with 403", { ...OWN, "sec-fetch-site": "same-site" }, 403],
    ["typed into the address bar is refused with 403", { ...OWN, "sec-fetch-site": "none" }, 403],
    [
      "from another origin is refused with 403",
      { ...JSON_TYPE, origin: "https://evil.example" },
      403,
    ],
    [
      "from the console's host on http is refused with 403",
      { ...JSON_TYPE, origin: "http://console.example" },
      403,
    ],
    [
      "from a host that begins with the console's host is refused with 403",
      { ...JSON_TYPE, origin: `${CONSOLE}.evil.example` },
      403,
    ],
    ["from a sandboxed page is refused with 403", { ...JSON_TYPE, origin: "null" }, 403],
    ["without an origin is refused with 403", JSON_TYPE, 403],
    [
      "from a form is refused with 415",
      { ...OWN, "content-type": "application/x-www-form-urlencoded" },
      415,
    ],
    ["from a plain-text form is refused with 415", { ...OWN, "content-type": "text/plain" }, 415],
    [
      "with a second content type after JSON is refused with 415",
      { ...OWN, "content-type": "application/json, text/plain" },
      415,
    ],
    ["without a content type is refused with 415", { origin: CONSOLE }, 415],
  ])("%s, whatever its method", (_, headers, expected) => {
    for (const method of ["POST", "PATCH", "DELETE", "PUT"]) {
      expect(status(method, headers)).toBe(expected);
    }
  });
});

test("a read needs no proof of its origin, since it changes nothing", () => {
  expect(status("GET", {})).toBeUndefined();
  expect(status("HEAD", { "sec-fetch-site": "cross-site" })).toBeUndefined();
});

const OPERATORS = new Set(["boss@example.com"]);
const HOUR_MS = 3_600_000;

describe("the person of a session", () => {
  test.each([
    [{ email: "boss@example.com", isVerified: true }, true],
    [{ email: " Boss@Example.COM", isVerified: true }, true],
    [{ email: "boss@example.com", isVerified: false }, false],
    [{ email: "boss@example.com.evil.example", isVerified: true }, false],
    [{ email: "boſs@example.com", isVerified: true }, false],
    [{ email: "", isVerified: true }, false],
  ])("%o is an operator: %s", (session, expected) => {
    expect(isOperator(session, OPERATORS)).toBe(expected);
  });

  test("is no operator if no operators are configured", () => {
    expect(isOperator({ email: "", isVerified: true }, new Set())).toBe(false);
  });
});

test("an operator whose sign-in is older than twelve hours signs in again before changing anything", () => {
  const startedAtMs = 1_000_000;
  expect(staleSignInProblem({ startedAtMs }, startedAtMs + 12 * HOUR_MS)).toBeUndefined();
  const stale = staleSignInProblem({ startedAtMs }, startedAtMs + 12 * HOUR_MS + 1);
  expect([stale?.status, stale?.code]).toEqual([403, "forbidden"]);
});

const own = "http://127.0.0.1:8081";

test.each([
  ["localhost:8081", "/keys?q=a", `${own}/keys?q=a`],
  ["[::1]:8081", "/", `${own}/`],
])("a browser at the host %s is redirected to the console's own host", (host, url, there) => {
  expect(otherName({ host, url, consoleUrl: own })).toBe(there);
});

test.each([
  ["the console's own host", "127.0.0.1:8081", own],
  ["a host with another port, as behind a port mapping", "localhost:9000", own],
  ["a host name that is not this machine's", "evil.example:8081", own],
  ["a public console behind a proxy", "localhost", "https://console.example"],
  ["a request without a host", undefined, own],
  ["a host that cannot be parsed", "a b", own],
])("no browser is redirected for %s", (_reason, host, consoleUrl) => {
  expect(otherName({ host, url: "/keys", consoleUrl })).toBeUndefined();
});
