import { formatUsd, type KeyId, microUsd, type MicroUsd, mondayOf, utcDay } from "../core/index.ts";
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

/** The same of all caps of a key. */
export async function askAboutCaps(
  deps: Pick<ConsoleDeps, "records" | "reports" | "clock">,
  session: Pick<SignedIn, "orgId">,
  {
    caps,
    confirm,
    keyId,
  }: {
    readonly caps: {
      readonly capMicroUsd?: MicroUsd | null;
      readonly weekCapMicroUsd?: MicroUsd | null;
      readonly dayCapMicroUsd?: MicroUsd | null;
    };
    readonly confirm: boolean | undefined;
    readonly keyId: KeyId;
  },
): Promise<ConsoleRefusal | undefined> {
  const { capMicroUsd: cap, weekCapMicroUsd: week = null, dayCapMicroUsd: ofDay = null } = caps;
  const ofMonth = await askAboutCap(deps, session, { cap, confirm, keyId });
  if (ofMonth !== undefined || confirm === true || (week === null && ofDay === null)) {
    return ofMonth;
  }
  const today = utcDay(deps.clock.nowMs());
  // Of a key without such a cap the days of the reports are near enough for a question.
  const days = await deps.reports.keyDays(session.orgId, keyId, 7);
  const spentSince = (first: number): bigint =>
    days.reduce((sum, { day: at, debitMicroUsd }) => {
      return utcDay(Date.parse(at)) >= first ? sum + debitMicroUsd : sum;
    }, 0n);
  for (const [name, wanted, first] of [
    ["this week", week, mondayOf(today)],
    ["today", ofDay, today],
  ] as const) {
    const spent = microUsd(spentSince(first));
    if (wanted === null || spent < wanted) continue;
    const until = name === "today" ? "until the end of the day (UTC)" : "until Monday (UTC)";
    const message = `This stops all requests with this key ${until}: ${usd(formatUsd(spent))} of ${usd(formatUsd(wanted))} is already spent ${name}. Confirm to set it anyway`;
    return new ConsoleRefusal({ status: 409, code: "confirm_needed", message });
  }
  return undefined;
}
