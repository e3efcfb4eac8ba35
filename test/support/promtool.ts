import { spawnSync } from "node:child_process";

/** On PATH. */
const PROGRAM = "promtool";

/** False if promtool is missing; the checks that need it are then skipped and reported. */
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
