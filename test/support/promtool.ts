import { spawnSync } from "node:child_process";
import { orReport } from "./or-report.ts";

const PROGRAM = "promtool";

/** False if promtool is missing; the checks that need it are then skipped and reported. */
export const hasPromtool: boolean = orReport(
  spawnSync(PROGRAM, ["--version"]).status === 0,
  "promtool is not on PATH: /metrics and the rules for alerts were NOT checked by it",
);

/** Returns the complaints of `promtool check metrics`; empty if it accepts the text. */
export function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ["check", "metrics"], {
    input: text,
    encoding: "utf8",
  });
  const said = `${stdout}${stderr}`;
  return status === 0 ? said : `exit ${status}\n${said}`;
}

/** Returns promtool's complaints about the files; empty if it accepts them. */
export function promtoolRules(what: "check" | "test", files: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PROGRAM, [what, "rules", ...files], {
    encoding: "utf8",
  });
  return status === 0 ? "" : `exit ${status}\n${stdout}${stderr}`;
}
