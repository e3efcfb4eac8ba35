import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { hasPgBouncer } from "../support/pgbouncer.ts";
import { newFolder } from "../support/run-folder.ts";

/** The tests of the ledger, and of money from end to end. */
const SUITE = [
  "test/backend-contract/ledger",
  "test/backend-contract/late-closings",
  "test/backend-contract/purchases",
  "test/backend-contract/settlement-periods",
  "test/backend-contract/retention.test",
  "test/backend-contract/audit.test",
  "test/e2e/money/",
];

/** The tests of all stores and of the migrations. */
const STORES = ["test/backend-contract/", "src/kernel/storage/migrat"];

test("all store tests pass on a server with slow, non-durable and unusual defaults", async () => {
  const { code, output } = await runSuite({ TM_TEST_SERVER: "hostile" }, STORES);
  expect(code, output.slice(-20_000)).toBe(0);
  expect(Number(/Tests .*?(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(250);
});

describe.skipIf(!hasPgBouncer)("behind PgBouncer", () => {
  test.each(["session", "transaction"])("the money tests pass in %s mode", async (mode) => {
    const folder = newFolder("pooled");
    chmodSync(folder, 0o777);
    try {
      const log = join(folder, "pgbouncer.log");
      const { code, output } = await runSuite({ TM_TEST_POOLER: mode, TM_TEST_POOLER_LOG: log });
      expect(code, output.slice(-20_000)).toBe(0);
      expect(Number(/Tests .*?(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(100);
      // The pooler logs each client's login, and each test file has clients of its own.
      const files = Number(/Test Files .*?(\d+) passed/.exec(output)?.[1]);
      const logins = readFileSync(log, "utf8").match(/login attempt/g) ?? [];
      expect(logins.length).toBeGreaterThanOrEqual(files);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Runs the test files of `suite` in a separate quick run with its own PostgreSQL. */
async function runSuite(
  variables: Readonly<Record<string, string>>,
  suite: readonly string[] = SUITE,
): Promise<{ readonly code: number; readonly output: string }> {
  const { TM_TEST_DEPTH: _depth, VITEST: _vitest, ...env } = process.env;
  const program = "node_modules/vitest/vitest.mjs";
  const child = spawn(
    process.execPath,
    [program, "run", "--maxWorkers=2", "--experimental.fsModuleCache=false", ...suite],
    {
      env: { ...env, NO_COLOR: "1", ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number];
  return { code, output };
}
