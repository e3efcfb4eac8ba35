import { spawnSync } from "node:child_process";
import { orReport } from "./or-report.ts";

/** Runs a program as in a new container: a kill ends every process in it. */
export const FRESH_NAMESPACE: readonly [string, ...string[]] = [
  "unshare",
  "--pid",
  "--fork",
  "--mount-proc",
  "--kill-child",
];

const [program, ...args] = FRESH_NAMESPACE;

export const hasNamespaces: boolean = orReport(
  spawnSync(program, [...args, "true"]).status === 0,
  "no unshare --pid as root: the embedded PostgreSQL of a killed container was NOT tested",
);
