import { formatUsd, type MicroUsd } from "../core/index.ts";
import type { SignedIn } from "../identity/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { instant } from "./read-values.ts";
import { day, usd } from "./show-refusal.ts";

/**
 * A cap that this month's spend has passed already stops requests at once, so it is set only when
 * that is confirmed. Undefined: there is nothing to ask.
 */
export async function askAboutCap(
  { records }: Pick<ConsoleDeps, "records">,
  { orgId }: Pick<SignedIn, "orgId">,
  asked: {
    readonly cap: MicroUsd | null | undefined;
    readonly confirm: boolean | undefined;
    /** Absent: the organization's cap. */
    readonly keyId?: string;
  },
): Promise<ConsoleRefusal | undefined> {
  const { cap, confirm = false, keyId } = asked;
  if (cap === undefined || cap === null || confirm) return undefined;
  const month = await records.monthSpend(orgId, keyId);
  if (month.spentMicroUsd < cap) return undefined;
  const what = keyId === undefined ? "all requests" : "all requests with this key";
  const message = `This stops ${what} until ${day(instant(month.resetAtMs))}: ${usd(formatUsd(month.spentMicroUsd))} of ${usd(formatUsd(cap))} is already spent this month. Confirm to set it anyway`;
  return new ConsoleRefusal({ status: 409, code: "confirm_needed", message });
}
