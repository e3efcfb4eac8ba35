import { expect, test } from "vitest";

import { attemptIdMaker, createRequestId, parseRequestId } from "./ids.ts";

test("a request id is a version 7 UUID that carries its millisecond", () => {
  const id = createRequestId(1_793_000_000_123);
  expect(parseRequestId(id)).toBe(id);
  expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(1_793_000_000_123);
});

test("parseRequestId returns undefined for a text of another form", () => {
  for (const text of ["", "req_1", "00000000-0000-4000-8000-000000000000", "x".repeat(36)]) {
    expect(parseRequestId(text)).toBeUndefined();
  }
});

test("attempt ids grow strictly, even if the clock steps back or a millisecond overflows", () => {
  const next = attemptIdMaker(7);
  const ids = Array.from({ length: 20_000 }, (_, at) => next(1_793_000_000_000 - (at % 5)));
  expect(ids.filter((id, at) => id <= (ids[at - 1] ?? -1n))).toEqual([]);
  expect(ids.every((id) => id < 2n ** 63n)).toBe(true);
});

test("two instances never make the same attempt id", () => {
  const ids = new Set<bigint>();
  for (const instance of [0, 1, 1023]) {
    const next = attemptIdMaker(instance);
    for (let i = 0; i < 5_000; i += 1) ids.add(next(1_793_000_000_000));
  }
  expect(ids.size).toBe(15_000);
});
