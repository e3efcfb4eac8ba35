import { expect, test } from "vitest";

import { REFUSALS } from "../../../../src/kernel/core/refusals.ts";
import { ERROR_ROWS } from "./error-rows.ts";

test("the docs page names every class that the gateway answers with, and no other", () => {
  expect(ERROR_ROWS.map(({ name }) => name)).toEqual(Object.keys(REFUSALS));
});

test("the docs page says the status and whether a retry helps, as the gateway does", () => {
  for (const { name, status, mayRetry } of ERROR_ROWS) {
    expect(REFUSALS[name as keyof typeof REFUSALS]).toMatchObject({ status, retryable: mayRetry });
  }
});
