import { afterEach, expect, test, vi } from "vitest";

import { faultText } from "../api/client.ts";
import { pathOfOurs, signInAddress, signOut } from "./sign-in.ts";

afterEach(() => vi.unstubAllGlobals());

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

test("signing out without a connection says so, and a refusal has the server's words", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  const fault = await signOut().catch(faultText);
  expect(fault).toBe("The console cannot be reached. Check your connection and try again.");
  const body = { error: { code: "rate_limit", message: "too many requests; wait" } };
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(body, { status: 429 })));
  expect(await signOut().catch(faultText)).toBe("Too many requests; wait.");
});
