import { spawnSync } from "node:child_process";

/** On PATH. */
const PROGRAM = "promtool";

/** Present on this machine? Without it the checks of Prometheus' own tool are skipped, and say so. */
export const hasPromtool: boolean = spawnSync(PROGRAM, ["--version"]).status === 0;

if (!hasPromtool) {
  process.stderr.write(
    "\n!!! SKIPPED: promtool is not on PATH: /metrics and the rules for alerts were NOT checked by it. Install Prometheus and " +
      "run again.\n\n",
  );
}

/** The complaints of `promtool check metrics` about this text; empty: none. */
export function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ["check", "metrics"], {
    input: text,
    encoding: "utf8",
  });
  const said = `${stdout}${stderr}`;
  return status === 0 ? said : `exit ${status}\n${said}`;
}

/** The problems that `promtool check rules` or `test rules` finds in these files; empty: none. */
export function promtoolRules(what: "check" | "test", files: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PROGRAM, [what, "rules", ...files], {
    encoding: "utf8",
  });
  return status === 0 ? "" : `exit ${status}\n${stdout}${stderr}`;
}
