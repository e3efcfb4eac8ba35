import { assert, property, string, webPath } from "fast-check";
import { expect, test } from "vitest";

import { safeReturnPath } from "./return-path.ts";

test("a path of ours is kept with its query and fragment", () => {
  for (const path of ["/", "/keys", "/usage?range=7d&by=model", "/models/a%2Fb#prices"]) {
    expect(safeReturnPath(path)).toBe(path);
  }
});

const EVIL = [
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
  "/\n/evil.example",
  " //evil.example",
  "/x/..//evil.example",
  "/.//evil.example",
  "/%2e//evil.example",
  `/${"a".repeat(600)}`,
];
for (const asked of EVIL) {
  test(`${JSON.stringify(asked)?.slice(0, 40)} leads nowhere`, () =>
    expect(safeReturnPath(asked)).toBeUndefined());
}

test("a circle through sign-in is not used", () => {
  for (const path of ["/auth/start", "/auth/recheck?x=1", "/sign-in", "/auth/link", "/auth"]) {
    expect(safeReturnPath(path)).toBeUndefined();
  }
  expect(safeReturnPath("/authors")).toBe("/authors");
});

test("whatever is asked for, a browser stays on our origin", () => {
  assert(
    property(webPath(), string(), (path, text) => {
      for (const asked of [path, text, `/${text}`, `//${text}`, `${path}/${text}`]) {
        const safe = safeReturnPath(asked);
        if (safe === undefined) continue;
        expect(new URL(safe, "https://console.example").origin).toBe("https://console.example");
      }
    }),
  );
});
