import { spawnSync } from "node:child_process";

/** Whether Helm is on PATH; where it is not, its own rendering is not compared, and the run says so. */
export const hasHelm: boolean = spawnSync("helm", ["version", "--short"]).status === 0;

if (!hasHelm) {
  process.stderr.write(
    "\n!!! SKIPPED: helm is not on PATH: that it renders the chart as the tests do was NOT tested. " +
      "Install Helm 3 and run again.\n\n",
  );
}
