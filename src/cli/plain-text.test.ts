import { describe, expect, test } from "vitest";

import { plainText } from "./plain-text.ts";

describe("an answer as a text", () => {
  test("of a record is aligned lines, a record inside it among them, nothing as a hyphen", () => {
    const key = { key_id: "key_1", tags: ["a", "b"], models: [], cap_usd: null };
    expect(plainText({ secret: "tm", key })).toBe(
      "secret       tm\nkey.key_id   key_1\nkey.tags     a, b\nkey.models   -\nkey.cap_usd  -",
    );
  });

  test("of a list is an aligned table of the columns that are named", () => {
    const data = [
      { id: "a", more: 1, n: 10 },
      { id: "longer", more: 2, n: 2 },
    ];
    expect(plainText({ data }, ["id", "n"])).toBe("id      n\na       10\nlonger  2");
    expect(plainText({ data: [] })).toBe("there are none");
  });

  test("of a record with lists has each list below it under its name", () => {
    const answer = { org_id: "org_1", rows: [{ rpm: { own: 1 } }], caps: [] };
    expect(plainText(answer)).toBe("org_id  org_1\n\nrows:\nrpm.own\n1\n\ncaps:\nnone");
  });
});
