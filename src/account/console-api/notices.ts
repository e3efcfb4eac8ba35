import type { AbuseRestrictionRecord, CappedKey, NoticeFacts } from "../../gateway/index.ts";
import type { TopUpPause } from "../billing/top-up-store.ts";
import {
  dollars,
  formatUsd,
  instant,
  instantOrNull,
  microUsd,
  type MicroUsd,
  pauseSentence,
  periodEndMs,
} from "../../kernel/index.ts";
import type { Balance, MonthSpend } from "../../ledger/index.ts";
import type { Notice } from "./contract.ts";
import { formatDay } from "./present-refusal.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { requireOrg } from "./read-values.ts";

export interface NoticeInput {
  readonly nowMs: number;
  readonly isFunded: boolean;
  readonly unfundedRequestsPerMinute: number;
  readonly balance: Balance;
  readonly lowBelowMicroUsd: MicroUsd | null;
  readonly month: MonthSpend;
  readonly holds: readonly Pick<
    AbuseRestrictionRecord,
    "family" | "state" | "untilMs" | "createdAtMs"
  >[];
  readonly facts: NoticeFacts;
  readonly topUpPause: TopUpPause | undefined;
  readonly unservedModels: readonly { readonly id: string; readonly name: string }[];
}

/** Lists an organization's notices, most severe first: what happens, since when, what to do. */
export function listNotices(input: NoticeInput): readonly Notice[] {
  const notices = [
    ...creditNotices(input),
    ...topUpNotice(input),
    ...capNotices(input),
    ...holdNotices(input),
    ...modelNotices(input),
    ...keyCapNotices(input),
    ...unfundedNotice(input),
  ];
  return notices.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const SEVERITIES: readonly Notice["severity"][] = ["bad", "warn", "info"];
const NEAR_PERCENT = 80n;

function creditNotices(input: NoticeInput): Notice[] {
  const { isFunded, balance, facts } = input;
  const { settledMicroUsd, heldMicroUsd } = balance;
  const available = settledMicroUsd - heldMicroUsd;
  const since = instantOrNull(facts.refusedSinceMs);
  const refused = facts.refused.balance ?? 0;
  const isRefusing = facts.neededMicroUsd !== null && facts.neededMicroUsd > available;
  if (settledMicroUsd <= 0n) {
    // An organization that never had credit gets only `never_funded` until a request is refused.
    if (!isFunded && refused === 0) return [];
    const text =
      refused === 0
        ? "Out of credit: the next request will be rejected."
        : "Out of credit: requests are being rejected.";
    return [{ ...BAD, kind: "out_of_credit", text, since, refused, action: "add_credit" }];
  }
  if (isRefusing) {
    const text = `Not enough credit: requests that could cost more than the ${money(available)} available are being rejected.`;
    return [{ ...BAD, kind: "credit_short", text, since, refused, action: "add_credit" }];
  }
  const text = lowBalanceText(input);
  return text === undefined ? [] : [{ ...WARN, kind: "low_balance", text, action: "add_credit" }];
}

function topUpNotice({ topUpPause: pause }: NoticeInput): Notice[] {
  if (pause === undefined) return [];
  const [text, since] = [pauseSentence(pause.reason), instant(pause.sinceMs)];
  const action = pause.reason === "operator" ? "contact_support" : "open_billing";
  return [{ ...WARN, kind: "top_up_paused", text, since, action }];
}

/** Compares the threshold with the settled balance, as alerts do, because holds come and go. */
function lowBalanceText(input: NoticeInput): string | undefined {
  const { balance, lowBelowMicroUsd: below, month, nowMs } = input;
  const { settledMicroUsd, heldMicroUsd } = balance;
  if (below !== null && settledMicroUsd < below) {
    return `Low balance: ${money(settledMicroUsd)} is below your threshold of ${money(below)}.`;
  }
  const available = settledMicroUsd - heldMicroUsd;
  // The month's mean; today counts as a whole day.
  const perDay = month.spentMicroUsd / BigInt(Math.max(1, new Date(nowMs).getUTCDate()));
  if (perDay === 0n || available >= perDay) return undefined;
  return `Low balance: ${money(available)} is less than one day at this month's pace of ${money(perDay)} a day.`;
}

function capNotices({ month, facts }: NoticeInput): Notice[] {
  const { capMicroUsd: cap, spentMicroUsd: spent, inFlightMicroUsd, resetAtMs } = month;
  if (cap === null) return [];
  const left = cap - spent - inFlightMicroUsd;
  const needed = facts.neededUnderCapMicroUsd;
  const reset = formatDay(instant(resetAtMs));
  const refused = facts.refused.org_cap ?? 0;
  const isFull = spent >= cap;
  // The next month does not help requests that need more than the whole cap.
  const end = needed !== null && needed > cap ? "" : ` It resets on ${reset}.`;
  if (isFull || (needed !== null && needed > left)) {
    const text = isFull
      ? `The organization's monthly cap of ${money(cap)} is used up: all requests are rejected until it resets on ${reset}.`
      : `The organization's monthly cap of ${money(cap)} has ${money(left > 0n ? left : 0n)} left: requests that could cost more are being rejected.${end}`;
    const since = instantOrNull(facts.refusedSinceMs);
    return [{ ...BAD, kind: "org_cap_reached", text, since, refused, action: "raise_cap" }];
  }
  if (spent * 100n < cap * NEAR_PERCENT) return [];
  const text = `${(spent * 100n) / cap}% of the organization's monthly cap of ${money(cap)} is used. At the cap, all requests are rejected until it resets on ${reset}.`;
  return [{ ...WARN, kind: "org_cap_near", text, action: "raise_cap" }];
}

function keyCapNotices({ facts, nowMs }: NoticeInput): Notice[] {
  const isFull = (key: CappedKey): boolean => key.spentMicroUsd >= key.capMicroUsd;
  const fullCaps = facts.cappedKeys.filter(isFull);
  // Of several full caps of a key, the last to reset counts: until then the key does not work.
  const full = onePerKey(
    fullCaps.toSorted((a, b) => periodEndMs(b.period, nowMs) - periodEndMs(a.period, nowMs)),
  );
  const near = onePerKey(facts.cappedKeys).filter(
    ({ keyId }) => !full.some((each) => each.keyId === keyId),
  );
  const notices: Notice[] = [];
  const [firstFull] = full;
  if (firstFull !== undefined) {
    const text =
      full.length === 1
        ? `Key “${firstFull.name}” has used up its ${ADJECTIVES[firstFull.period]} cap of ${money(firstFull.capMicroUsd)}: its requests are rejected until it resets on ${formatReset(firstFull, nowMs)}.`
        : fullText(full, nowMs);
    const target = full.length === 1 ? firstFull.keyId : null;
    notices.push({ ...WARN, kind: "key_cap_reached", text, action: "raise_cap", target });
  }
  const [firstNear] = near;
  if (firstNear !== undefined) {
    const text = near.length === 1 ? nearText(firstNear, nowMs) : allNearText(near, nowMs);
    const target = near.length === 1 ? firstNear.keyId : null;
    notices.push({ ...INFO, kind: "key_cap_near", text, action: "raise_cap", target });
  }
  return notices;
}

const ADJECTIVES = { month: "monthly", week: "weekly", day: "daily" } as const;

function onePerKey(caps: readonly CappedKey[]): readonly CappedKey[] {
  const seen = new Set<string>();
  return caps.filter(({ keyId }) => !seen.has(keyId) && seen.add(keyId));
}

function formatReset({ period }: CappedKey, nowMs: number): string {
  return formatDay(instant(periodEndMs(period, nowMs)));
}

function fullText(full: readonly CappedKey[], nowMs: number): string {
  return `${full.length} keys have used up their ${commonWord(full)}caps: their requests are rejected until the caps reset. ${firstReset(full, nowMs)}`;
}

/** Mentions amounts held by requests in progress, since these may be returned. */
function nearText(key: CappedKey, nowMs: number): string {
  const { name, period, spentMicroUsd: spent, heldMicroUsd: held } = key;
  const cap = `${ADJECTIVES[period]} cap of ${money(key.capMicroUsd)}`;
  return held === 0n
    ? `Key “${name}” has used ${money(spent)} of its ${cap}, which resets on ${formatReset(key, nowMs)}.`
    : `Key “${name}”: ${money(spent + held)} of its ${cap} is used or held by requests in progress. The cap resets on ${formatReset(key, nowMs)}.`;
}

function allNearText(near: readonly CappedKey[], nowMs: number): string {
  const share = `${NEAR_PERCENT}% or more of their ${commonWord(near)}caps`;
  const text = near.some(({ heldMicroUsd }) => heldMicroUsd > 0n)
    ? `keys have ${share} used or held by requests in progress`
    : `keys have used ${share}`;
  return `${near.length} ${text}. ${firstReset(near, nowMs)}`;
}

function commonWord(caps: readonly CappedKey[]): string {
  const periods = new Set(caps.map(({ period }) => period));
  const [only] = periods;
  return only !== undefined && periods.size === 1 ? `${ADJECTIVES[only]} ` : "";
}

function firstReset(caps: readonly CappedKey[], nowMs: number): string {
  const ends = caps.map(({ period }) => periodEndMs(period, nowMs));
  const first = formatDay(instant(Math.min(...ends)));
  return new Set(ends).size === 1
    ? `The caps reset on ${first}.`
    : `The first of these caps resets on ${first}.`;
}

function holdNotices({ holds }: NoticeInput): Notice[] {
  return holds.map(({ family, state, untilMs, createdAtMs }) => {
    const isRestricted = state === "restricted";
    const end =
      untilMs === undefined
        ? "until support has reviewed them"
        : `until ${CLOCK.format(new Date(untilMs))} (UTC)`;
    return {
      ...(isRestricted ? BAD : WARN),
      kind: "unusual_use",
      text: `Unusual use detected: ${FAMILY_LABELS[family]} ${isRestricted ? "are rejected" : "are limited"} ${end}.`,
      since: instant(createdAtMs),
      action: "contact_support",
    };
  });
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "long",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
});
const FAMILY_LABELS = {
  chat: "chat requests",
  images: "image requests",
  videos: "video requests",
  decisions: "decision requests",
} as const;

function modelNotices({ unservedModels: models }: NoticeInput): Notice[] {
  const [first] = models;
  if (first === undefined) return [];
  const names = models.length === 1 ? first.name : `${first.name} and ${models.length - 1} more`;
  return [
    {
      ...WARN,
      kind: "provider_trouble",
      text: `No provider of ${names} is available right now, so requests return 503. The gateway tries the providers again within seconds. Until then, use another model.`,
      action: "view_model",
      target: first.id,
    },
  ];
}

function unfundedNotice({ isFunded, unfundedRequestsPerMinute }: NoticeInput): Notice[] {
  if (isFunded) return [];
  const text = `${unfundedRequestsPerMinute} requests per minute until you add credit.`;
  return [{ ...INFO, kind: "never_funded", text, action: "add_credit" }];
}

const NOTHING_MORE = { since: null, refused: 0, target: null } as const;
const BAD = { severity: "bad", ...NOTHING_MORE } as const;
const WARN = { severity: "warn", ...NOTHING_MORE } as const;
const INFO = { severity: "info", ...NOTHING_MORE } as const;

function money(amount: MicroUsd | bigint): string {
  return dollars(formatUsd(microUsd(amount)));
}

export async function readNotices(deps: ConsoleDeps, session: SignedIn) {
  const { records, limitUse, clock } = deps;
  const { orgId } = session;
  const nowMs = clock.nowMs();
  const [org, balance, month, holds, facts, rules, topUpPause] = await Promise.all([
    requireOrg(deps, session),
    records.balance(orgId),
    records.monthSpend(orgId),
    deps.abuseRestrictions.list({ orgId, isWithPast: false }),
    records.noticeFacts(orgId, nowMs),
    deps.alerts.store.rules(orgId),
    deps.billing.topUpPause(orgId),
  ]);
  const notices = listNotices({
    nowMs,
    isFunded: org.isFunded,
    unfundedRequestsPerMinute: limitUse.limitDefaults.unfundedRequestsPerMinute,
    balance,
    month,
    lowBelowMicroUsd: rules.balanceBelowMicroUsd,
    topUpPause,
    holds,
    facts,
    unservedModels: unservedModels(deps, facts.models),
  });
  return { org, balance, holds, notices };
}

/** Finds models whose deployments all have an open circuit, so that requests are refused. */
function unservedModels(
  { catalog, health, clock }: ConsoleDeps,
  ids: readonly string[],
): readonly { readonly id: string; readonly name: string }[] {
  const nowMs = clock.monotonicMs();
  return ids.flatMap((id) => {
    const model = catalog.current.find(id);
    if (model === undefined || model.deployments.length === 0) return [];
    const isServed = model.deployments.some((each) => health.mayTry(each.id, nowMs) !== "no");
    return isServed ? [] : [{ id, name: model.displayName }];
  });
}
