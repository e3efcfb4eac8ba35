import { expect, test } from "vitest";

import { conflict, ConsoleRefusal, rateLimited } from "./console-refusal.ts";

test("a 429 or 503 refusal asks to retry after 60 seconds by default, and a conflict does not", () => {
  expect(new ConsoleRefusal(503, "gateway_error", "no").retryAfterSeconds).toBe(60);
  expect(new ConsoleRefusal(429, "gateway_error", "no").retryAfterSeconds).toBe(60);
  expect(rateLimited("no", 7).retryAfterSeconds).toBe(7);
  expect(conflict("no").retryAfterSeconds).toBeUndefined();
});
