import { expect, test } from "vitest";

import { listDays, upLabel } from "./served.ts";

const NOW_MS = Date.parse("2026-11-24T13:00:00Z");

function day(at: string, uptime: number | null): Parameters<typeof listDays>[0][number] {
  return {
    at,
    uptime,
    success: uptime,
    ttft_p50_ms: null,
    ttft_p95_ms: null,
    tokens_per_second: null,
  };
}

test("the uptime history has the thirty days up to today, and days without calls have no uptime", () => {
  const days = listDays([day("2026-11-24T00:00:00.000Z", 0.25)], NOW_MS);
  expect(days).toHaveLength(30);
  expect(days.at(-1)).toEqual({ day: "24 Nov 2026", uptime: 0.25 });
  expect(days[0]).toEqual({ day: "26 Oct 2026", uptime: null });
  expect(days.map(({ uptime }) => upLabel(uptime)).filter((each) => each !== "none")).toEqual([
    "down",
  ]);
});

test("a day is up only with an uptime of 100%, and down below 50%", () => {
  expect([1, 0.99, 0.5, 0.49, 0, null].map(upLabel)).toEqual([
    "up",
    "partly",
    "partly",
    "down",
    "down",
    "none",
  ]);
});
