import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { identifyProcess } from "../../../src/kernel/storage/process-identity.ts";
import { until } from "../../support/books.ts";
import { builtProgram } from "../../support/build-program.ts";
import { ANY_PORTS, OPERATOR_ENV, serve, withOperatorFolder } from "../../support/operator.ts";
import { withDatabase } from "../../support/postgres.ts";
import { urlThrough, withProxyTo } from "../../support/tcp-proxy.ts";

const GRACE_MS = 500;
/** Milliseconds that closing the stores may take after the grace time on a busy machine. */
const EXTRA_MS = 14_000;
const ENV = { TM_SHUTDOWN_GRACE_MS: String(GRACE_MS) };

const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });
const database = withDatabase();
const proxy = withProxyTo(database);

test("SIGTERM ends a server that waits for its database's start lock, after the grace time plus 10 s", async () => {
  const holder = spawn("sleep", ["120"]);
  await once(holder, "spawn");
  const home = join(folder.dataDir, "postgres");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "start.lock"), identifyProcess(holder.pid ?? 0));
  const { mainFile } = await builtProgram();
  const args = [mainFile, "serve", ...ANY_PORTS, "--data", folder.dataDir];
  const env = { ...process.env, ...OPERATOR_ENV, ...ENV };
  const program = spawn(process.execPath, args, { env });
  let stderr = "";
  program.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(program, "exit");
  onTestFinished(() => void [program, holder].map((each) => each.kill("SIGKILL")));
  await until("it waits for the lock", () => readdirSync(home).some((name) => /\d$/.test(name)));
  const beganMs = performance.now();
  program.kill("SIGTERM");
  expect(await exited).toEqual([2, null]);
  expect(performance.now() - beganMs).toBeLessThan(GRACE_MS + EXTRA_MS);
  expect(stderr).toContain("not stopped after 11 s");
});

test("SIGTERM ends a server whose database does not answer, within the limit of the stop", async () => {
  const program = await serve(folder, { ...ENV, DATABASE_URL: urlThrough(proxy, database).href });
  proxy.set("silent");
  const beganMs = performance.now();
  const code = await program.end("SIGTERM");
  // Each store has a time limit of its own. With code 0, all stores were closed within theirs. With
  // code 2, the process was ended at the limit of the whole stop, and logged that.
  expect([0, 2]).toContain(code);
  await until("it says why, if it was ended", () => {
    return code === 0 || program.stderr().includes("not stopped after 11 s");
  });
  expect(performance.now() - beganMs).toBeLessThan(GRACE_MS + EXTRA_MS);
  proxy.set("up");
});
