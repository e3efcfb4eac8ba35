import type { Option } from "commander";

import { formatUsd, type MicroUsd, parseUsd, usdOrNull } from "../core/index.ts";
import { UsageFault, type CommandAnswer, type Flags } from "./command-context.ts";
import { option } from "./stored-command.ts";

/** The options of a command that sets a monthly spend cap. */
export const CAP_OPTIONS: readonly Option[] = [
  option("--usd <amount>", "dollars per UTC month, above 0, at most six decimals"),
  option("--none", "remove the cap"),
];

/** The cap that the flags ask for; null removes it. Exactly one of the two has to be there. */
export function readCap(flags: Flags): MicroUsd | null {
  const { usd, none } = flags;
  if ((usd === undefined) === (none !== true)) {
    throw new UsageFault("specify either --usd <amount> or --none");
  }
  return usd === undefined ? null : parseCap("--usd", String(usd));
}

/** An amount that can be a cap: nothing at all means no cap, so 0 is a mistake. */
export function parseCap(flag: string, text: string): MicroUsd {
  const cap = parseUsd(text);
  if (cap !== undefined && cap > 0n) return cap;
  throw new UsageFault(`${flag} must be dollars above 0 such as 25.00, not ${text}`);
}

/** What a command says that has set a cap. */
export function capAnswer(
  of: Readonly<Record<string, string>>,
  cap: MicroUsd | null,
): CommandAnswer {
  const name = Object.values(of)[0] ?? "";
  return {
    json: { ...of, cap_usd: usdOrNull(cap) },
    text:
      cap === null
        ? `${name} has no monthly spend cap`
        : `${name} may spend $${formatUsd(cap)} per UTC month`,
  };
}
