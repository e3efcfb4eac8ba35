import type { Command } from "commander";

import { PROBE_TIMEOUT_MS } from "../listing-tools/index.ts";
import { type MicroUsd, parseUsd } from "../kernel/index.ts";
import { type Flags, UsageFault } from "./command-context.ts";
import { readText, readWhole } from "./number-flags.ts";

const PROBE_SECONDS = PROBE_TIMEOUT_MS / 1000;
const BUDGET_USD_DEFAULT = "1.00";

/** The options of every command that sends probes. */
export function onProbes(command: Command): Command {
  return command
    .option("--budget-usd <amount>", "most that a run may cost", BUDGET_USD_DEFAULT)
    .option("--timeout <seconds>", `longest whole answer (default ${PROBE_SECONDS})`);
}

export function readTimeoutMs(flags: Flags): number {
  return 1000 * (readWhole(flags, "timeout", { min: 1, max: 3_600 }) ?? PROBE_SECONDS);
}

/** The amount of `--<name>`, which has a default. */
export function readUsd(flags: Flags, name: string): MicroUsd {
  const text = readText(flags, name) ?? "";
  const amount = parseUsd(text);
  if (amount !== undefined && amount >= 0n) return amount;
  throw new UsageFault(`--${name} must be an amount such as 1.50, not ${text}`);
}
