import { spawnSync } from "node:child_process";
import { orReport } from "./or-report.ts";

/**
 * Runs a program as in a new container: process numbers begin at 1, and a kill ends every process
 * in it.
 */
export const FRESH_NAMESPACE: readonly [string, ...string[]] = [
  "unshare",
  "--pid",
  "--fork",
  "--mount-proc",
  "--kill-child",
];

const [program, ...args] = FRESH_NAMESPACE;

/** True as root on Linux, where a program can be started in a new namespace of process ids. */
export const hasNamespaces: boolean = orReport(
  spawnSync(program, [...args, "true"]).status === 0,
  "no unshare --pid as root: the embedded PostgreSQL of a killed container was NOT tested",
);
