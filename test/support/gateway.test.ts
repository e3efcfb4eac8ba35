import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { startTestGateway } from "./gateway.ts";

function listeners(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;
}

test("a test gateway that cannot start leaves no listener and no folder behind", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-starts-"));
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  const before = listeners();
  const databaseUrl = "postgres://nobody@127.0.0.1:1/nothing";
  for (const settings of [{ databaseUrl }, { databaseUrl, logLevel: "loud" }]) {
    await expect(startTestGateway({ settings })).rejects.toThrow(/database|log_level/);
  }
  await expect.poll(listeners).toBeLessThanOrEqual(before);
  expect(readdirSync(folder)).toEqual([]);
});
