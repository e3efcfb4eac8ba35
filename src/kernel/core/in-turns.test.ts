import { expect, test } from "vitest";
import { listPieces, mapInTurns } from "./in-turns.ts";

test("every item is mapped once, in order, and other work gets its turns between them", async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const items = Array.from({ length: 2_000 }, (_, at) => at);
  const made = await mapInTurns(items, (item) => {
    const untilMs = performance.now() + 0.05;
    while (performance.now() < untilMs);
    return item * 2;
  });
  clearInterval(timer);
  expect(made).toEqual(items.map((item) => item * 2));
  expect(turns).toBeGreaterThan(3);
});

test("a list in pieces is the list", async () => {
  const frame = { before: '{"a":[', after: "]}" };
  for (const count of [0, 1, 2, 3_000]) {
    const items = Array.from({ length: count }, (_, at) => `é${at}`.repeat(10));
    const pieces = await listPieces(items, (item) => JSON.stringify(item), frame);
    expect(pieces.length > 1).toBe(count === 3_000);
    expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual({ a: items });
  }
});
