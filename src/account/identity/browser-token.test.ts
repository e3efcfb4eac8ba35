import { assert, property, string, webPath } from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import { cookieJar, safeReturnPath } from "./browser-token.ts";

const token = "A".repeat(43);

describe("a session cookie", () => {
  test("on https is bound to the host, hidden from scripts and sent on https only", () => {
    expect(cookieJar("https://console.example.com").write("session", token, 604_800)).toBe(
      `__Host-tm_session=${token}; Max-Age=604800; Path=/; HttpOnly; SameSite=Lax; Secure`,
    );
  });

  test("on plain http has no __Host- prefix and no Secure attribute", () => {
    expect(cookieJar("http://127.0.0.1:8081").write("session", token, 60)).toBe(
      `tm_session=${token}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax`,
    );
  });

  test("is cleared under its prefixed name with a Max-Age of 0", () => {
    expect(cookieJar("https://a.example").clear("tx")).toMatch(/^__Host-tm_tx=; Max-Age=0; /);
  });
});

test("a cookie is found among others, and not with another name, another form or no prefix", () => {
  const jar = cookieJar("https://console.example.com");
  expect(jar.read("session", `a=b; __Host-tm_session=${token}; c=d`)).toBe(token);
  for (const header of [
    undefined,
    "",
    `tm_session=${token}`,
    `x__Host-tm_session=${token}`,
    "__Host-tm_session=short",
    `__Host-tm_session=${token}x`,
    `__Host-tm_tx=${token}`,
    `__Host-tm_session=${token}; ${"x".repeat(20_000)}`,
  ]) {
    expect(jar.read("session", header)).toBeUndefined();
  }
});

test("a return path of the console is kept with its query and fragment", () => {
  for (const path of ["/", "/keys", "/usage?range=7d&by=model", "/models/a%2Fb#prices"]) {
    expect(safeReturnPath(path)).toBe(path);
  }
});

test("a return path that is not a plain path of the console is rejected", () => {
  for (const asked of [
    undefined,
    "",
    "keys",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/keys\\..\\evil",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
    " //evil.example",
    "/x/..//evil.example",
    "/%2e//evil.example",
    `/${"a".repeat(600)}`,
  ]) {
    expect(safeReturnPath(asked), asked).toBeUndefined();
  }
});

test("a return path that leads back to sign-in is rejected", () => {
  for (const path of ["/auth/start", "/auth/recheck?x=1", "/sign-in", "/auth/link", "/auth"]) {
    expect(safeReturnPath(path)).toBeUndefined();
  }
  expect(safeReturnPath("/authors")).toBe("/authors");
});

test("an accepted return path never leaves the console's origin", () => {
  assert(
    property(webPath(), string(), (path, text) => {
      for (const asked of [path, text, `/${text}`, `//${text}`, `${path}/${text}`]) {
        const safe = safeReturnPath(asked);
        if (safe === undefined) continue;
        expect(new URL(safe, "https://console.example").origin).toBe("https://console.example");
      }
    }),
    { numRuns: runs(100) },
  );
});
