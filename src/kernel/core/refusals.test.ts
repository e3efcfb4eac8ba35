import { expect, test } from "vitest";

import { refusal, REFUSALS, type RefusalClass } from "./refusals.ts";

test("every 429 and 503 has a retry-after, of 60 seconds if it is not retryable", () => {
  for (const cls of Object.keys(REFUSALS) as RefusalClass[]) {
    for (const status of [429, 503]) {
      expect(refusal(cls, "no", { status, retryable: true }).retryAfterSeconds).toBe(2);
      expect(refusal(cls, "no", { status, retryable: false }).retryAfterSeconds).toBe(60);
      expect(refusal(cls, "no", { status, retryAfterSeconds: 7 }).retryAfterSeconds).toBe(7);
    }
    expect(refusal(cls, "no", { status: 400 })).not.toHaveProperty("retryAfterSeconds");
  }
});
