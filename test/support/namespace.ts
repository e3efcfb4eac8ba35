import { spawnSync } from "node:child_process";

/** A container's start: process numbers begin again at 1, and a kill ends every process in it. */
export const FRESH_NAMESPACE: readonly [string, ...string[]] = [
  "unshare",
  "--pid",
  "--fork",
  "--mount-proc",
  "--kill-child",
];

const [program, ...args] = FRESH_NAMESPACE;

/** As root on Linux only: then programs can be started in a space of process numbers of their own. */
export const hasNamespaces: boolean = spawnSync(program, [...args, "true"]).status === 0;

if (!hasNamespaces) {
  process.stderr.write(
    "\n!!! SKIPPED: no fresh space of process numbers here (unshare --pid, as root): the embedded " +
      "PostgreSQL of a killed container was NOT tested. Run as root on Linux.\n\n",
  );
}
