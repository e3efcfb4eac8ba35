import { expect, test } from "vitest";

import { ROLES } from "../../../src/kernel/core/roles.ts";
import { ROLE_MEANINGS, roleNote } from "./role-words.ts";

test("a page says who may do what it does not offer, and what its reader is", () => {
  expect(roleNote("keys", "create keys", "viewer")).toBe(
    "Only owners and developers can create keys. You are a viewer, and an owner can change that.",
  );
  expect(roleNote("members", "invite members", "billing")).toMatch(
    /^Only owners can .* You are a billing member, /,
  );
  expect(Object.keys(ROLE_MEANINGS)).toEqual([...ROLES]);
});
