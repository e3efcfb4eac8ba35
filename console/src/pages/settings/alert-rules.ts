import type { Alerts, BodyOf } from "../../api/contract.ts";
import { plainUsd } from "../../ui/money-math.ts";

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
  const below = typed.below.trim().replace(/^\$/, "");
  const { percents } = typed;
  const isSame =
    percents.length === before.percents.length &&
    percents.every((percent) => before.percents.includes(percent));
  const events = EVENTS.filter(([name]) => typed[name] !== before[name]);
  return {
    ...(below === before.below ? {} : { balance_below_usd: below === "" ? null : below }),
    ...(isSame ? {} : { cap_percents: percents.map(Number) }),
    ...Object.fromEntries(events.map(([name]) => [name, typed[name]])),
  };
}
