import type { AlertDestination, Alerts, BodyOf } from "../../api/contract.ts";
import { bareUsd, plainUsd } from "../../ui/money-math.ts";

type Rules = Alerts["rules"];

/** The rules that are on or off, with their labels. */
export const EVENTS = [
  ["purchases", "Credit from a purchase was added"],
  ["restrictions", "Requests are restricted after unusual use"],
  ["key_expiry", "A key expires in 7 days, in 1 day, or has expired"],
  ["provider_trouble", "A provider failed most of your calls in an hour"],
] as const;

/** The form as typed. An empty `below` means no alert about the balance. */
export interface TypedRules extends Pick<Rules, (typeof EVENTS)[number][0]> {
  readonly below: string;
  readonly percents: readonly string[];
}

export function typedRules(rules: Rules): TypedRules {
  return {
    ...rules,
    below: rules.balance_below_usd === null ? "" : plainUsd(rules.balance_below_usd),
    percents: rules.cap_percents.map(String),
  };
}

/**
 * Returns only the rules that differ from the opened form: a purchase may have moved the threshold
 * since, and saving must not set it back.
 */
export function changedRules(
  opened: Rules,
  typed: TypedRules,
): BodyOf<"PATCH /api/console/alerts"> {
  const before = typedRules(opened);
  const below = bareUsd(typed.below);
  const { percents } = typed;
  const events = EVENTS.filter(([name]) => typed[name] !== before[name]);
  return {
    ...(below === before.below ? {} : { balance_below_usd: below === "" ? null : below }),
    ...(areSame(percents, before.percents) ? {} : { cap_percents: percents.map(Number) }),
    ...Object.fromEntries(events.map(([name]) => [name, typed[name]])),
  };
}

/** The form of a destination. Null kinds means all of them, including future ones. */
export interface TypedDestination {
  readonly isEnabled: boolean;
  readonly kinds: readonly string[] | null;
}

export function typedDestination({ disabled_at: at, kinds }: AlertDestination): TypedDestination {
  return { isEnabled: at === null, kinds };
}

/**
 * Returns only what differs from the opened form: its reader may have confirmed the address since,
 * and saving other events must not disable it.
 */
export function changedDestination(
  opened: AlertDestination,
  typed: TypedDestination,
): BodyOf<"PATCH /api/console/alerts/destinations/:destination_id"> {
  const before = typedDestination(opened);
  const { isEnabled, kinds } = typed;
  const hasSameKinds =
    kinds === null || before.kinds === null ? kinds === before.kinds : areSame(kinds, before.kinds);
  return {
    ...(isEnabled === before.isEnabled ? {} : { is_enabled: isEnabled }),
    ...(hasSameKinds ? {} : { kinds: kinds === null ? null : [...kinds] }),
  };
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}
