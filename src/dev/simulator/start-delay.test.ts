import { expect, test } from "vitest";
import { startSimulator } from "./simulator.ts";
import { StartDelay } from "./start-delay.ts";

const CALLS = 1_000;

function jitterOf(seed: string, jitter: number): readonly number[] {
  const delay = new StartDelay(seed);
  return Array.from({ length: CALLS }, () => delay.waitMs(delay.arrive(true), { jitter }));
}

test("jitter is spread over 0 to its bound, both included", () => {
  const waits = jitterOf("0", 20);
  expect(new Set(waits)).toEqual(new Set(Array.from({ length: 21 }, (_item, ms) => ms)));
});

test("jitter depends on the seed and the number of the call, and on nothing else", () => {
  expect(jitterOf("0", 500)).toEqual(jitterOf("0", 500));
  expect(jitterOf("0", 500)).not.toEqual(jitterOf("1", 500));
  const delay = new StartDelay("0");
  const numbers = [true, false, true].map((isGeneration) => delay.arrive(isGeneration).number);
  expect(numbers).toEqual([1, 2, 3]);
});

test("without these faults nothing waits", () => {
  const delay = new StartDelay("0");
  expect(delay.waitMs(delay.arrive(true), {})).toBe(0);
});

test("a slow start is that of the first answer of a model, and its jitter is added", () => {
  const delay = new StartDelay("0");
  const faults = { slow_start: 3_000 };
  expect(delay.waitMs(delay.arrive(false), faults)).toBe(0);
  const first = delay.arrive(true);
  expect(delay.waitMs(first, faults)).toBe(3_000);
  const jitterMs = delay.waitMs({ ...first, isFirst: false }, { jitter: 500 });
  expect(delay.waitMs(first, { ...faults, jitter: 500 })).toBe(3_000 + jitterMs);
  expect(delay.waitMs(delay.arrive(true), faults)).toBe(0);
});

test("the first answer of a simulator waits, and the others do not wait for it", async () => {
  const fault = "slow_start:60000";
  const simulator = await startSimulator({ port: 0, host: "127.0.0.1", fault });
  const messages = [{ role: "user", content: "hi" }];
  const init = { method: "POST", body: JSON.stringify({ model: "m", messages }) };
  const url = `${simulator.url}/v1/chat/completions`;
  const leaving = new AbortController();
  const first = fetch(url, { ...init, signal: leaving.signal });
  await expect.poll(() => simulator.counts().open).toBe(1);
  expect((await fetch(url, init)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ total: 2, open: 1 });
  leaving.abort();
  await expect(first).rejects.toThrow("aborted");
  await expect.poll(() => simulator.counts().open).toBe(0);
  expect(simulator.counts().abandoned).toBe(1);
  await simulator.close();
});
