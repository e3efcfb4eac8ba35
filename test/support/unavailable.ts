import { expect } from "vitest";

import { at, type HttpAnswer } from "./ask.ts";

/** While the journal is unreachable the client may retry, and no provider got the request. */
export function expectUnavailable(answer: HttpAnswer): void {
  expect(answer.status).toBe(503);
  expect(answer.headers).toMatchObject({
    "x-tm-error-code": "gateway_error",
    "x-tm-error-origin": "gateway_infrastructure",
    "retry-after": "2",
  });
  expect(answer.headers).not.toHaveProperty("x-tm-attempts");
  expect(answer.headers).not.toHaveProperty("x-should-retry");
  expect(at(answer.json, "error", "metadata", "retryable")).toBe(true);
  expect(answer.text).not.toMatch(/postgres|sql|127\.0\.0\.1|ECONN/i);
}
