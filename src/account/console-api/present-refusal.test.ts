import { expect, test } from "vitest";

import type { KeyId } from "../../kernel/index.ts";
import { presentRefusal } from "./present-refusal.ts";

const REQUEST = { keyId: "k1" as KeyId, keyOrigin: "console", modelId: "a/b" } as const;

test.each([
  ["month", {}, "1.000000", "Raise the cap, or wait until it resets on 1 December (UTC)."],
  ["month", {}, "1.000001", "Raise the cap, or ask for fewer output tokens."],
  ["week", { cap_period: "week" }, "1.000001", "Raise the cap, or ask for fewer output tokens."],
  ["day", { cap_period: "day" }, "10.000000", "Raise the cap, or ask for fewer output tokens."],
] as const)(
  "the refusal of a request by a one-dollar cap per $0, of which it needs $2 dollars, ends with: $3",
  (_, period, needed, advice) => {
    const reason = {
      status: 429,
      limit_kind: "spend",
      limit_scope: "key",
      ...period,
      cap_usd: "1.000000",
      spent_usd: "0.100000",
      in_flight_usd: "0.000000",
      needed_usd: needed,
      reset_at: "2026-12-01T00:00:00.000Z",
      retryable: false,
    } as const;
    const refused = { errorClass: "insufficient_quota", reason } as const;
    const { explanation } = presentRefusal({ ...REQUEST, route: "/v1/chat/completions" }, refused);
    expect(explanation.slice(-advice.length)).toBe(advice);
  },
);

test.each(["/v1/images/generations", "/images/generations"])(
  "the refusal of a request to %s for lack of credit advises fewer images, not fewer output tokens",
  (route) => {
    const reason = {
      status: 429,
      limit_kind: "spend",
      limit_scope: "org",
      needed_usd: "1.000000",
      available_usd: "0.500000",
      in_flight_usd: "0.000000",
      retryable: false,
    } as const;
    const refused = { errorClass: "insufficient_quota", reason } as const;
    const { explanation } = presentRefusal({ ...REQUEST, route }, refused);
    expect(explanation).toMatch(/ask for fewer or smaller images\.$/);
  },
);

test.each([
  ["key:k1", "rpm", "requests per minute", "raise_limit"],
  ["refusals:k1", "rpm", "refused requests per minute", null],
  ["refusals:o1", "concurrency", "requests at once that were not admitted yet", null],
  ["settings:k1", "rpm", "changes of limits per minute", null],
  ["settings-by-keys:o1", "rpm", "changes of limits per minute", null],
] as const)(
  "the refusal by the limit %s of kind %s names %s, and the action %s",
  (limitId, kind, counted, action) => {
    const reason = {
      status: 429,
      limit_kind: kind,
      limit_scope: "key",
      limit_id: limitId,
      limit: 60,
      retry_after: 5,
      retryable: true,
    } as const;
    const refused = { errorClass: "rate_limit", reason } as const;
    expect(presentRefusal({ ...REQUEST, route: "/v1/chat/completions" }, refused)).toMatchObject({
      explanation: `This key was limited to 60 ${counted}. It could have been sent again 5 seconds later.`,
      action,
    });
  },
);
