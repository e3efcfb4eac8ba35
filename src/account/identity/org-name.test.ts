import { expect, test } from "vitest";

import { orgNameOf } from "./org-name.ts";

test("an organization is called as its person, else as the first part of the address", () => {
  expect(orgNameOf("Ada Lovelace", "ada@example.com")).toBe("Ada Lovelace");
  expect(orgNameOf("  ", "ada@example.com")).toBe("ada");
  expect(orgNameOf(null, "ada@example.com")).toBe("ada");
  expect(orgNameOf("😀".repeat(80), "ada@example.com")).toBe("😀".repeat(32));
});
