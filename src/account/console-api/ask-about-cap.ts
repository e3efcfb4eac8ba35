import type { KeySummary } from "../../gateway/index.ts";
import {
  type CapPeriod,
  type Caps,
  formatUsd,
  instant,
  type KeyId,
  microUsd,
  type MicroUsd,
  mondayOf,
  periodsByEnd,
  utcDay,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ConcurrencyGate } from "./concurrency-gate.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { formatDay, formatDollars } from "./present-refusal.ts";

/** A cap that is already used up. `until` is when it resets; both fields are texts for people. */
interface Stop {
  readonly until: string;
  readonly spent: string;
}

/** Asks to confirm an organization's new cap if it is spent already: all requests would stop. */
export async function askAboutCap(
  deps: Pick<ConsoleDeps, "records">,
  session: Pick<SignedIn, "orgId">,
  asked: { readonly cap: MicroUsd | null | undefined; readonly confirm: boolean | undefined },
): Promise<ConsoleRefusal | undefined> {
  const { cap, confirm = false } = asked;
  if (confirm) return undefined;
  const stop = await stopOfMonth(deps, session, { cap });
  return stop === undefined ? undefined : question("all requests", stop);
}

const NAMED_MAX = 3;

interface AskedCaps {
  readonly caps: Partial<Caps>;
  readonly confirm: boolean | undefined;
  readonly keys: readonly Pick<KeySummary, "keyId" | "name">[];
}

/** Where reports must be read, a route does so in a turn of `reads`; a command has no turns. */
export async function askAboutCaps(
  deps: Pick<ConsoleDeps, "records" | "reports" | "clock"> & { readonly reads?: ConcurrencyGate },
  session: Pick<SignedIn, "orgId">,
  asked: AskedCaps,
): Promise<ConsoleRefusal | undefined> {
  const { confirm = false, caps } = asked;
  if (confirm) return undefined;
  const ask = (): Promise<ConsoleRefusal | undefined> => findQuestion(deps, session, asked);
  const { week = null, day = null } = caps;
  if (deps.reads === undefined || (week === null && day === null)) return await ask();
  return await deps.reads.run(session.orgId, ask);
}

async function findQuestion(
  deps: Pick<ConsoleDeps, "records" | "reports" | "clock">,
  session: Pick<SignedIn, "orgId">,
  { caps, keys }: AskedCaps,
): Promise<ConsoleRefusal | undefined> {
  const stops: (Stop & { readonly name: string })[] = [];
  for (const { keyId, name } of keys) {
    const stop = await findStop(deps, session, { caps, keyId });
    if (stop !== undefined) stops.push({ ...stop, name });
  }
  const [first, ...others] = stops;
  if (first === undefined) return undefined;
  if (keys.length === 1) return question("all requests with this key", first);
  const named = [first, ...others.slice(0, NAMED_MAX - 1)].map(
    ({ name, until, spent }) => `“${name}” until ${until} (${spent})`,
  );
  const more = stops.length - named.length;
  const list = more === 0 ? named.join("; ") : `${named.join("; ")}; and ${more} more`;
  return confirmNeeded(
    `This stops all requests with ${stops.length} of the ${keys.length} keys: ${list}`,
  );
}

/** Finds the cap that would stop a key's requests; of several, the one that resets last. */
async function findStop(
  deps: Pick<ConsoleDeps, "records" | "reports" | "clock">,
  session: Pick<SignedIn, "orgId">,
  { caps, keyId }: { readonly caps: Partial<Caps>; readonly keyId: KeyId },
): Promise<Stop | undefined> {
  const { month: cap, week = null, day: ofDay = null } = caps;
  const ofMonth = await stopOfMonth(deps, session, { cap, keyId });
  if (week === null && ofDay === null) return ofMonth;
  const nowMs = deps.clock.nowMs();
  const today = utcDay(nowMs);
  const stops = new Map<CapPeriod, Stop>(ofMonth === undefined ? [] : [["month", ofMonth]]);
  // Daily sums are exact enough for a confirmation, and exist also for a key without a cap.
  const days = await deps.reports.keyDays(session.orgId, keyId, 7);
  const spentSince = (first: number): bigint =>
    days.reduce((sum, { day: at, debitMicroUsd }) => {
      return utcDay(Date.parse(at)) >= first ? sum + debitMicroUsd : sum;
    }, 0n);
  for (const [period, name, wanted, first, until] of [
    ["week", "this week", week, mondayOf(today), "Monday (UTC)"],
    ["day", "today", ofDay, today, "the end of the day (UTC)"],
  ] as const) {
    const spent = microUsd(spentSince(first));
    if (wanted === null || spent < wanted) continue;
    stops.set(period, { until, spent: describeSpent(spent, wanted, name) });
  }
  const last = periodsByEnd(nowMs).find((period) => stops.has(period));
  return last && stops.get(last);
}

/** Undefined if the monthly `cap` is not used up. It is the organization's if `keyId` is absent. */
async function stopOfMonth(
  { records }: Pick<ConsoleDeps, "records">,
  { orgId }: Pick<SignedIn, "orgId">,
  { cap, keyId }: { readonly cap: MicroUsd | null | undefined; readonly keyId?: KeyId },
): Promise<Stop | undefined> {
  if (cap === undefined || cap === null) return undefined;
  const { spentMicroUsd, resetAtMs } = await records.monthSpend(orgId, keyId);
  if (spentMicroUsd < cap) return undefined;
  return {
    until: formatDay(instant(resetAtMs)),
    spent: describeSpent(spentMicroUsd, cap, "this month"),
  };
}

function describeSpent(spent: MicroUsd, cap: MicroUsd, when: string): string {
  return `${formatDollars(formatUsd(spent))} of ${formatDollars(formatUsd(cap))} is already spent ${when}`;
}

function question(what: string, { until, spent }: Stop): ConsoleRefusal {
  return confirmNeeded(`This stops ${what} until ${until}: ${spent}`);
}

function confirmNeeded(what: string): ConsoleRefusal {
  const message = `${what}. Confirm to set it anyway`;
  return new ConsoleRefusal(409, "confirm_needed", message, { isCounted: true });
}
