import { expect, test } from "vitest";

import { OPERATOR_ENV, withOperatorFolder } from "../../support/operator.ts";
import { runCommand, runProgram } from "../../support/program.ts";

/*
 * Other tests run commands inside their own process. These start real processes, and check that the
 * operating system gets the same exit codes. Exit code 0 with logs is in kill.test.ts.
 */

const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

test("a command with a negative answer exits with 1 and says why on standard output", async () => {
  const bad = folder.writeManifest("bad.txt", { manifest_version: "2" });
  const args = ["manifest", "check", bad, "--json"];
  const result = await runProgram(args, OPERATOR_ENV);
  expect(result).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(result.stdout)).toMatchObject({ ok: false });
  expect(result.stdout.split("\n")).toHaveLength(2);
  expect(await runCommand(args, OPERATOR_ENV)).toEqual(result);
});

test("a wrong call exits with 2 and says why on standard error", async () => {
  const args = ["org", "create", "x", "--json"];
  const result = await runProgram(args, OPERATOR_ENV);
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("--email");
  expect(await runCommand(args, OPERATOR_ENV)).toEqual(result);
});
