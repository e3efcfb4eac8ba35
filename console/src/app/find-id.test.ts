import { expect, test } from "vitest";

import { findId } from "./find-id.ts";

const REQUEST = "0193a5b0-1234-7abc-9def-0123456789ab";

test.each([
  [` ${REQUEST.toUpperCase()} `, "Request", { requestId: REQUEST }],
  ["key_0a1b", "Key", { keyId: "key_0a1b" }],
  ["pur_0a1b", "Purchase", { purchaseId: "pur_0a1b" }],
  ["search_0a1b", "Optimize search", { searchId: "search_0a1b" }],
])("the pasted id %j leads to its page", (text, label, params) => {
  expect(findId(text)).toMatchObject({ label, params });
});

test.each(["", "key", "pur_", "0193a5b0-1234-4abc-9def-0123456789ab", "key_../../x", "usage"])(
  "%j is not an id",
  (text) => {
    expect(findId(text)).toBeUndefined();
  },
);
