import { expect, test } from "vitest";

import { pathOfOurs, signInAddress } from "./sign-in.ts";

test("a return address is a page of the console and never another site", () => {
  for (const path of ["//evil.test", "/\\evil.test", "https://evil.test", "evil", "", "/a b"]) {
    expect(pathOfOurs(path)).toBe("/");
  }
  expect(pathOfOurs("/usage?model=a%2Fb")).toBe("/usage?model=a%2Fb");
});

test("signing in leads back to the page that the reader was on", () => {
  expect(signInAddress({ reason: "expired", back: "/keys?status=all" })).toBe(
    "/sign-in?return=%2Fkeys%3Fstatus%3Dall&reason=expired",
  );
});

test("the first page and the sign-in page itself are not used as return addresses", () => {
  expect(signInAddress({ back: "/" })).toBe("/sign-in");
  expect(signInAddress({ back: "/sign-in?reason=expired" })).toBe("/sign-in");
});
