import { spawnSync } from "node:child_process";
import { orReport } from "./or-report.ts";

const PROGRAM = "promtool";

export const hasPromtool: boolean = orReport(
  spawnSync(PROGRAM, ["--version"]).status === 0,
  "promtool is not on PATH: /metrics and the rules for alerts were NOT checked by it",
);

/** Returns the complaints of `promtool check metrics`; empty if it accepts the text. */
export function promtoolComplaints(input: string): string {
  const { status, said } = run(["check", "metrics"], input);
  return status === 0 ? said : `exit ${status}\n${said}`;
}

export function promtoolRules(what: "check" | "test", files: readonly string[]): string {
  const { status, said } = run([what, "rules", ...files]);
  return status === 0 ? "" : `exit ${status}\n${said}`;
}

function run(args: readonly string[], input = "") {
  const { status, stdout, stderr } = spawnSync(PROGRAM, args, { input, encoding: "utf8" });
  return { status, said: stdout + stderr };
}
