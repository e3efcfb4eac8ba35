import { expect, test } from "vitest";

import { isPagePath, isReservedPath } from "./page-routes.ts";

test.each([
  "/",
  "/sign-in",
  "/keys",
  "/keys/key_1",
  "/billing/return/pur_1",
  "/billing/purchases/pur_1/receipt",
  "/billing/company",
  "/billing/statements",
  "/billing/statements/2026-10",
  "/models",
  "/models/acme/rich-1",
  "/requests/0199-a",
  "/playground",
  "/operator",
  "/operator/organizations/org_1",
  "/operator/review",
])("%s is a page", (path) => {
  expect(isPagePath(path)).toBe(true);
  expect(isReservedPath(path)).toBe(false);
});

test.each(["/keys/a/b", "/billing/purchases/pur_1", "/nowhere", "/sign-in/", "/requests"])(
  "%s is not a page",
  (path) => {
    expect(isPagePath(path)).toBe(false);
  },
);

test.each([
  "/login",
  "/Login",
  "/login/",
  "/v1",
  "/v1/signup",
  "/v1/responses",
  "/api/x",
  "/images/generations",
  "/auth/nowhere",
  "/playground/v1",
  "/playground/v1/x",
  "//evil.example",
])("%s is a reserved path, which is never a page", (path) => {
  expect(isReservedPath(path)).toBe(true);
});
