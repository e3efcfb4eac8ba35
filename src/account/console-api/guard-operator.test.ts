import { describe, expect, test } from "vitest";

import { isOperator, staleSignInProblem } from "./guard-request.ts";

const OPERATORS = new Set(["boss@example.com"]);
const HOUR_MS = 3_600_000;

describe("the person of a session", () => {
  test.each([
    [{ email: "boss@example.com", isVerified: true }, true],
    [{ email: " Boss@Example.COM", isVerified: true }, true],
    [{ email: "boss@example.com", isVerified: false }, false],
    [{ email: "boss@example.com.evil.example", isVerified: true }, false],
    [{ email: "ſ@example.com", isVerified: true }, false],
    [{ email: "", isVerified: true }, false],
  ])("%o is an operator: %s", (session, expected) => {
    expect(isOperator(session, OPERATORS)).toBe(expected);
  });

  test("is no operator while the setting is empty", () => {
    expect(isOperator({ email: "", isVerified: true }, new Set())).toBe(false);
  });
});

test("an operator whose sign-in is older than twelve hours signs in again before changing anything", () => {
  const startedAtMs = 1_000_000;
  expect(staleSignInProblem({ startedAtMs }, startedAtMs + 12 * HOUR_MS)).toBeUndefined();
  const stale = staleSignInProblem({ startedAtMs }, startedAtMs + 12 * HOUR_MS + 1);
  expect([stale?.status, stale?.code]).toEqual([403, "forbidden"]);
});
