import { expect, test } from "vitest";

import { type Need, NEEDS, ROLES, rolesWith } from "../../../src/kernel/core/roles.ts";
import { ROLE_MEANINGS, ROLES_FOR } from "./role-words.ts";

test("pages name the roles that the server lets in", () => {
  const words = NEEDS.map((need: Need) => {
    const roles = rolesWith(need);
    const [last] = roles.slice(-1);
    return roles.length === 1 ? last : `${roles.slice(0, -1).join(", ")} or ${last}`;
  });
  expect(NEEDS.map((need) => ROLES_FOR[need])).toEqual(words);
  expect(Object.keys(ROLE_MEANINGS)).toEqual([...ROLES]);
});
