import { expect, test } from "vitest";

import { conflict, ConsoleRefusal, rateLimited } from "./console-refusal.ts";

test("every 429 and 503 says when to come back: a minute where nothing better is known", () => {
  const of = { code: "gateway_error", message: "no" } as const;
  expect(new ConsoleRefusal({ ...of, status: 503 }).retryAfterSeconds).toBe(60);
  expect(new ConsoleRefusal({ ...of, status: 429 }).retryAfterSeconds).toBe(60);
  expect(rateLimited("no", 7).retryAfterSeconds).toBe(7);
  expect(conflict("no").retryAfterSeconds).toBeUndefined();
});
