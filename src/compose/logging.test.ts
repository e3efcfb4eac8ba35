import { expect, test } from "vitest";

import { openLogging } from "./logging.ts";

function collected(level = "info") {
  const written: string[] = [];
  const output = { write: (text: string) => written.push(text) };
  return { written, ...openLogging({ level, secrets: ["hunter2-hunter2"], output }) };
}

test("lines are written together, at the latest when they are flushed", () => {
  const { written, log, flush } = collected();
  log.info("one");
  log.info("two");
  expect(written).toEqual([]);
  flush();
  flush();
  expect(written).toHaveLength(1);
  const lines = (written[0] ?? "").trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(["one", "two"]);
});

test("many lines do not wait for a flush", () => {
  const { written, log } = collected();
  for (let n = 0; n < 100; n += 1) log.info({ n }, "a line of some length");
  expect(written.length).toBeGreaterThan(0);
});

test("a line that nothing follows is written soon", async () => {
  const { written, log } = collected();
  log.info("the last one");
  await expect.poll(() => written).toHaveLength(1);
});

test("a secret is blanked out of every line", () => {
  const { written, log, flush } = collected();
  log.info({ url: "postgres://me:hunter2-hunter2@localhost" }, `tm_vk_${"0".repeat(48)}`);
  flush();
  expect(written.join("")).toContain("[redacted]");
  expect(written.join("")).not.toMatch(/hunter2|tm_vk_0/);
});
