import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { serve, withOperatorFolder } from "../../support/operator.ts";

const GRACE_MS = 500;
/** Milliseconds after the grace time: the bound for closing the stores, plus a busy machine. */
const EXTRA_MS = 12_000;

const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

test("SIGTERM ends a process whose data folder was deleted, without a misleading error", async () => {
  const program = await serve(folder, { TM_SHUTDOWN_GRACE_MS: String(GRACE_MS) });
  const pidFile = join(folder.dataDir, "postgres", "cluster", "postmaster.pid");
  const postmaster = Number.parseInt(readFileSync(pidFile, "utf8"));
  onTestFinished(() => void process.kill(postmaster, "SIGQUIT"));
  rmSync(folder.dataDir, { recursive: true, force: true });
  const beganMs = performance.now();
  expect(await program.end("SIGTERM")).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(GRACE_MS + EXTRA_MS);
  expect(program.stderr()).toContain("the folder of the database was removed");
  expect(program.stderr()).not.toContain("tokenmarket: ENOENT");
});
