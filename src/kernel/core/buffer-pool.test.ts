import * as fc from "fast-check";
import { expect, test } from "vitest";

import { BufferPool, type LentBuffer } from "./buffer-pool.ts";
import { POOLED_BYTES_MAX, POOLED_BYTES_MIN } from "./constants.ts";

const KiB = 1024;

function lent(pool: BufferPool, length: number): LentBuffer {
  const loan = pool.lend(length);
  if (loan === undefined) throw new Error("nothing was lent");
  return loan;
}

test("a buffer has the requested length, and its memory is lent again after it came back", () => {
  const pool = new BufferPool();
  const first = lent(pool, 9 * KiB);
  expect(first.bytes).toHaveLength(9 * KiB);
  first.giveBack();
  const second = lent(pool, 16 * KiB);
  expect(second.bytes).toHaveLength(16 * KiB);
  expect(second.bytes.buffer).toBe(first.bytes.buffer);
});

test("a buffer that was left to the garbage collector is never lent again", () => {
  const pool = new BufferPool();
  const first = lent(pool, 9 * KiB);
  first.leave();
  expect([pool.lentBytes, pool.idleBytes]).toEqual([0, 0]);
  expect(lent(pool, 9 * KiB).bytes.buffer).not.toBe(first.bytes.buffer);
});

test("ending a loan twice throws", () => {
  const pool = new BufferPool();
  const loan = lent(pool, 9 * KiB);
  loan.giveBack();
  expect(() => loan.giveBack()).toThrow("a loan ends once");
  expect(() => loan.leave()).toThrow("a loan ends once");
});

test("a buffer outside the bounds of length is not lent", () => {
  const pool = new BufferPool();
  for (const length of [0, 1, POOLED_BYTES_MIN - 1, POOLED_BYTES_MAX + 1]) {
    expect(pool.lend(length)).toBeUndefined();
  }
  for (const length of [POOLED_BYTES_MIN, POOLED_BYTES_MAX]) {
    expect(lent(pool, length).bytes).toHaveLength(length);
  }
});

test("idle memory of another size is dropped to make space for a new buffer", () => {
  const pool = new BufferPool(32 * KiB);
  const loans = [1, 2, 3, 4].map(() => lent(pool, 8 * KiB));
  for (const loan of loans) loan.giveBack();
  expect(pool.idleBytes).toBe(32 * KiB);
  expect(lent(pool, 20 * KiB).bytes).toHaveLength(20 * KiB);
  expect([pool.lentBytes, pool.idleBytes]).toEqual([32 * KiB, 0]);
});

test("no two open loans share memory, and all memory together stays within the bound", () => {
  const bytesMax = 256 * KiB;
  const step = fc.oneof(
    { weight: 2, arbitrary: fc.record({ lend: fc.integer({ min: 1, max: 100 * KiB }) }) },
    fc.record({ end: fc.nat(), comesBack: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = new BufferPool(bytesMax);
      const open: LentBuffer[] = [];
      for (const each of steps) {
        if ("lend" in each) {
          const loan = pool.lend(each.lend);
          if (loan !== undefined) open.push(loan);
        } else {
          const [loan] = open.splice(each.end % Math.max(1, open.length), 1);
          if (each.comesBack) loan?.giveBack();
          else loan?.leave();
        }
        expect(new Set(open.map(({ bytes }) => bytes.buffer)).size).toBe(open.length);
        const lentBytes = open.reduce((sum, { bytes }) => sum + bytes.buffer.byteLength, 0);
        expect(pool.lentBytes).toBe(lentBytes);
        expect(pool.lentBytes + pool.idleBytes).toBeLessThanOrEqual(bytesMax);
      }
    }),
  );
});
