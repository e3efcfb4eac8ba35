import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

import { afterAll, expect, test } from "vitest";

import { type CommandIo, reportFault } from "./command-context.ts";

const folder = mkdtempSync(join(tmpdir(), "tokenmarket-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The message of a command that tries to create this file. */
async function saidOf(path: string): Promise<string> {
  let said = "";
  const stderr = { write: (text: string) => (said += text) };
  await pipeline(["day"], createWriteStream(path, { flags: "wx" })).catch((fault: unknown) =>
    reportFault({ env: {}, stderr } as unknown as CommandIo, fault),
  );
  return said;
}

test("a file that cannot be created is reported with the next step", async () => {
  const there = join(folder, "day.ndjson");
  writeFileSync(there, "");
  expect(await saidOf(there)).toBe(
    `tokenmarket: ${there}: is there already, and is not replaced; name another file\n`,
  );
  const nowhere = join(folder, "none", "day.ndjson");
  expect(await saidOf(nowhere)).toBe(
    `tokenmarket: ${nowhere}: there is no such file or folder; check the name\n`,
  );
});
