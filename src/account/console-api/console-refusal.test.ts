import { expect, test } from "vitest";

import { conflict, ConsoleRefusal, rateLimited } from "./console-refusal.ts";

test("every 429 and 503 says when to come back, after a minute by default", () => {
  expect(new ConsoleRefusal(503, "gateway_error", "no").retryAfterSeconds).toBe(60);
  expect(new ConsoleRefusal(429, "gateway_error", "no").retryAfterSeconds).toBe(60);
  expect(rateLimited("no", 7).retryAfterSeconds).toBe(7);
  expect(conflict("no").retryAfterSeconds).toBeUndefined();
});
