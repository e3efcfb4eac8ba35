import type { Alerts, BodyOf } from "../../api/contract.ts";
import { plainUsd } from "../../ui/money-math.ts";

type Rules = Alerts["rules"];

export type EventName = "purchases" | "restrictions" | "key_expiry" | "provider_trouble";

/** The form as typed. An empty `below` means no alert about the balance. */
export interface TypedRules extends Pick<Rules, EventName> {
  readonly below: string;
  readonly percents: readonly string[];
}

export function typedRules(rules: Rules): TypedRules {
  const { purchases, restrictions, key_expiry, provider_trouble } = rules;
  return {
    below: rules.balance_below_usd === null ? "" : plainUsd(rules.balance_below_usd),
    percents: rules.cap_percents.map(String),
    purchases,
    restrictions,
    key_expiry,
    provider_trouble,
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
  const events = EVENT_NAMES.filter((name) => typed[name] !== before[name]);
  return {
    ...(below === before.below ? {} : { balance_below_usd: below === "" ? null : below }),
    ...(isSame ? {} : { cap_percents: percents.map(Number) }),
    ...Object.fromEntries(events.map((name) => [name, typed[name]])),
  };
}

const EVENT_NAMES: readonly EventName[] = [
  "purchases",
  "restrictions",
  "key_expiry",
  "provider_trouble",
];
