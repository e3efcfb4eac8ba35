import { describe, expect, test } from "vitest";
import { retryAfterSeconds } from "./retry-after.ts";

const nowMs = Date.parse("2026-11-20T12:00:00Z");

describe("the wait that a provider asks for", () => {
  test.each([
    ["seconds", { "retry-after": "20" }, 20],
    ["nothing, which still means a moment", { "retry-after": "0" }, 1],
    ["more than the cap", { "retry-after": "300" }, 60],
    ["a date", { "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, 30],
    ["a date in the past", { "retry-after": "Fri, 20 Nov 2026 11:00:30 GMT" }, 1],
    ["milliseconds, which win", { "retry-after-ms": "2500", "retry-after": "9" }, 3],
    ["a duration of minutes", { "x-ratelimit-reset-tokens": "0m42s" }, 42],
    ["a duration of milliseconds", { "x-ratelimit-reset-tokens": "120ms" }, 1],
    ["a compound duration", { "x-ratelimit-reset-tokens": "1h6m0.5s" }, 60],
    ["an RFC 3339 instant", { "anthropic-ratelimit-tokens-reset": "2026-11-20T12:00:17Z" }, 17],
    ["an instant in seconds", { "x-ratelimit-reset": String(nowMs / 1000 + 25) }, 25],
    ["an instant in milliseconds", { "x-ratelimit-reset": String(nowMs + 25_000) }, 25],
    [
      "the window that is used up, not the longest",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "3s",
        "x-ratelimit-remaining-tokens": "500",
        "x-ratelimit-reset-tokens": "50s",
      },
      3,
    ],
    ["words", { "retry-after": "soon" }, undefined],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["no header", {}, undefined],
  ])("%s", (_name, headers, seconds) => {
    expect(retryAfterSeconds(headers, nowMs)).toBe(seconds);
  });

  test("is measured from the answer's own date if no clock is given", () => {
    const headers = {
      date: "Fri, 20 Nov 2026 12:00:00 GMT",
      "retry-after": "Fri, 20 Nov 2026 12:00:09 GMT",
    };
    expect(retryAfterSeconds(headers)).toBe(9);
    expect(retryAfterSeconds({ "retry-after": headers["retry-after"] })).toBeUndefined();
  });
});
