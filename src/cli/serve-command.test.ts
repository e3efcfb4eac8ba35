import { expect, test, vi } from "vitest";

import { logWarnings } from "./serve-command.ts";

test("warnings of Node and of packages are log lines while serving, and plain text afterwards", async () => {
  const lines: unknown[] = [];
  const note =
    (level: string) =>
    (detail: object, message: string): void =>
      void lines.push({ level, ...detail, message });
  const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const before = process.listeners("warning");
  const print = console.warn;
  const stop = logWarnings({ info: note("info"), warn: note("warn"), error: note("error") });
  try {
    process.emitWarning("the driver is old", "DeprecationWarning", "DEP0001");
    console.warn("[WARN] a server %s", "says", "something");
    console.error(new Error("an unhandled event").message);
    await expect.poll(() => lines.length).toBe(3);
    expect(lines).toMatchObject([
      { level: "warn", source: "console", message: "[WARN] a server says something" },
      { level: "error", source: "console", message: "an unhandled event" },
      { level: "warn", source: "node", message: "the driver is old" },
    ]);
    expect(printed).not.toHaveBeenCalled();
  } finally {
    stop();
    printed.mockRestore();
  }
  expect(process.listeners("warning")).toEqual(before);
  expect(console.warn).toBe(print);
});
