import { describe, expect, test } from "vitest";
import { readWaits } from "./retry-after.ts";

/** Returns the wait after a rate limit. */
function readWait(headers: Parameters<typeof readWaits>[0], atMs?: number): number | undefined {
  const { waitSeconds, resetSeconds } = readWaits(headers, atMs);
  return waitSeconds ?? resetSeconds;
}

const nowMs = Date.parse("2026-11-20T12:00:00Z");

describe("the wait that a provider asks for", () => {
  const reset = "x-ratelimit-reset";
  const instant = { "anthropic-ratelimit-tokens-reset": "2026-11-20T12:00:17Z" };
  const windows = {
    "x-ratelimit-remaining-requests": "0",
    [`${reset}-requests`]: "3s",
    "x-ratelimit-remaining-tokens": "500",
    [`${reset}-tokens`]: "50s",
  };
  test.each([
    ["in seconds is used unchanged", { "retry-after": "20" }, 20],
    ["of zero seconds becomes one second", { "retry-after": "0" }, 1],
    ["of more than a minute is capped at 60 seconds", { "retry-after": "300" }, 60],
    ["as a date is the time until it", { "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, 30],
    ["as a past date becomes a second", { "retry-after": "Fri, 20 Nov 2026 11:00:30 GMT" }, 1],
    ["in ms is rounded up and wins", { "retry-after-ms": "2500", "retry-after": "9" }, 3],
    ["as the duration 0m42s is 42 seconds", { [`${reset}-tokens`]: "0m42s" }, 42],
    ["as a duration of 120 ms becomes one second", { [`${reset}-tokens`]: "120ms" }, 1],
    ["as a duration above an hour is capped at 60 s", { [`${reset}-tokens`]: "1h6m0.5s" }, 60],
    ["as an RFC 3339 instant is the time until then", instant, 17],
    ["as a Unix time in seconds is the time until it", { [reset]: `${nowMs / 1000 + 25}` }, 25],
    ["as a Unix time in ms is the time until it", { [reset]: `${nowMs + 25_000}` }, 25],
    ["is that of the used-up window, not of the longest one", windows, 3],
    ["in words is ignored", { "retry-after": "soon" }, undefined],
    ["as a negative number is ignored", { "retry-after": "-5" }, undefined],
    ["is undefined if no header has it", {}, undefined],
  ])("%s", (_name, headers, seconds) => {
    expect(readWait(headers, nowMs)).toBe(seconds);
  });

  test("is measured from the answer's own date if no clock is given", () => {
    const headers = {
      date: "Fri, 20 Nov 2026 12:00:00 GMT",
      "retry-after": "Fri, 20 Nov 2026 12:00:09 GMT",
    };
    expect(readWait(headers)).toBe(9);
    expect(readWait({ "retry-after": headers["retry-after"] })).toBeUndefined();
  });
});
