import { expect, test } from "vitest";

import { pathOfOurs, signInAddress } from "./sign-in.ts";

test("a return address is a page of the console and never another site", () => {
  for (const path of ["//evil.test", "/\\evil.test", "https://evil.test", "evil", "", "/a b"]) {
    expect(pathOfOurs(path)).toBe("/");
  }
  expect(pathOfOurs("/usage?model=a%2Fb")).toBe("/usage?model=a%2Fb");
});

test("the sign-in address has the page to return to and the reason for the sign-in", () => {
  expect(signInAddress({ reason: "expired", back: "/keys?status=all" })).toBe(
    "/sign-in?return=%2Fkeys%3Fstatus%3Dall&reason=expired",
  );
});

test("the overview page and the sign-in page are not used as return addresses", () => {
  expect(signInAddress({ back: "/" })).toBe("/sign-in");
  expect(signInAddress({ back: "/sign-in?reason=expired" })).toBe("/sign-in");
});
