import { ALERT_KINDS, CHOSEN_KINDS, parseAlertKind } from "../alerts/alert-kinds.ts";
import type {
  DeliveryRecord,
  AlertDestination as StoredDestination,
} from "../alerts/alert-store.ts";
import { instant, instantOrNull, type OrgId, type Role, usdOrNull } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { AlertDelivery, AlertDestination, Alerts } from "./contract.ts";
import { shownAddress } from "./show-address.ts";

/** What an organization has chosen, and what there is to choose, as a member may see it. */
export async function readAlerts(
  { alerts, vault }: ConsoleDeps,
  { orgId, role }: { readonly orgId: OrgId; readonly role: Role },
): Promise<Alerts> {
  const [rules, destinations] = await Promise.all([
    alerts.store.rules(orgId),
    alerts.store.destinations(orgId),
  ]);
  const { balanceBelowMicroUsd: below } = rules;
  return {
    rules: {
      balance_below_usd: usdOrNull(below),
      cap_percents: [...rules.capPercents],
      purchases: rules.hasPurchases,
      restrictions: rules.hasRestrictions,
      key_expiry: rules.hasKeyExpiry,
    },
    can_email: alerts.canMail,
    can_webhook: vault !== undefined,
    kinds: CHOSEN_KINDS.map((kind) => ({ kind, label: ALERT_KINDS[kind].label })),
    destinations: destinations.map((each) => shownDestination(each, role)),
  };
}

export function shownDelivery(record: DeliveryRecord, role: Role): AlertDelivery {
  return {
    event_id: record.eventId,
    kind: record.kind,
    label: labelOf(record.kind),
    at: instant(record.atMs),
    destination_id: record.destinationId,
    channel: record.channel,
    address: record.address === null ? null : shownAddress(record.address, role),
    state: record.state,
    tries: record.tries,
    next_try_at: record.state === "waiting" ? instantOrNull(record.nextAtMs) : null,
    last_answer: record.lastAnswer,
  };
}

function labelOf(text: string): string {
  const kind = parseAlertKind(text);
  return kind === undefined ? text : ALERT_KINDS[kind].label;
}

export function shownDestination(destination: StoredDestination, role: Role): AlertDestination {
  return {
    destination_id: destination.destinationId,
    channel: destination.channel,
    address: shownAddress(destination.address, role),
    kinds: destination.kinds === null ? null : [...destination.kinds],
    created_at: instant(destination.createdAtMs),
    failing_since: instantOrNull(destination.failingSinceMs),
    disabled_at: instantOrNull(destination.disabledAtMs),
    disabled_reason: destination.disabledReason,
    former_secret_until: instantOrNull(destination.formerSecretUntilMs),
  };
}
