import {
  big,
  bool,
  columns,
  computed,
  type Facts,
  instantMs,
  integer,
  maskedEmail,
  micro,
  opaque,
  type OrgId,
  orNull,
  type RecordOf,
  text,
} from "../../kernel/index.ts";
import { eventColumns } from "./alert-kinds.ts";

export const ruleColumns = columns({
  /** A balance below this alerts the organization. Null turns this alert off. */
  balanceBelowMicroUsd: orNull(micro("balance_below")),
  /** Percentages at which to alert, of the organization's cap and of the caps of its keys. */
  capPercents: opaque<readonly number[]>("cap_percents"),
  hasPurchases: computed("purchases_since is not null", bool("has_purchases")),
  hasRestrictions: computed("restrictions_since is not null", bool("has_restrictions")),
  hasKeyExpiry: computed("key_expiry_since is not null", bool("has_key_expiry")),
  hasTrouble: computed("trouble_since is not null", bool("has_trouble")),
  /** True: each purchase or large grant sets the threshold to a fifth of its sum (at least $5). */
  isBalanceFollowing: bool("balance_follows"),
});
export type AlertRules = RecordOf<typeof ruleColumns>;

export type AlertChannel = "email" | "webhook";

/** The change log may be kept longer than an e-mail address, so the address is masked. */
export function nameDestination(at: { readonly channel: string; readonly address: string }): Facts {
  const { channel, address } = at;
  return { channel, address: channel === "email" ? maskedEmail(address) : shortAddress(address) };
}

/** Shows only the origin of a webhook: the rest may contain a token that lets anyone post. */
export function shortAddress(address: string): string {
  if (!/^https?:/i.test(address)) return address;
  return URL.canParse(address) ? `${new URL(address).origin}/…` : "…";
}

/**
 * `failing`: after two days of failures; `gone`: the address answered 410; `unconfirmed`: its
 * reader has not confirmed it yet; `stopped`: that reader stopped the alerts.
 */
export type DisabledReason = "paused" | "failing" | "gone" | "unconfirmed" | "stopped";

export const destinationColumns = columns({
  destinationId: text("destination_id"),
  channel: text<AlertChannel>("channel"),
  address: text("address"),
  /** The kinds of events that are sent to this destination; null means all kinds. */
  kinds: orNull(opaque<readonly string[]>("kinds")),
  createdAtMs: instantMs("created_at"),
  failingSinceMs: orNull(instantMs("failing_since")),
  disabledAtMs: orNull(instantMs("disabled_at")),
  disabledReason: orNull(text<DisabledReason>("disabled_reason")),
  /** Until this instant, deliveries are also signed with the secret before the last rotation. */
  formerSecretUntilMs: computed(
    "case when former_until > now() then former_until end",
    orNull(instantMs("former_until")),
  ),
  /** When the confirmation link expires; null if no confirmation is awaited. */
  confirmUntilMs: computed(
    "case when disabled_reason = 'unconfirmed' then confirm_until end",
    orNull(instantMs("confirm_until")),
  ),
});
export type AlertDestination = RecordOf<typeof destinationColumns>;

export interface NewDestination extends Pick<
  AlertDestination,
  "destinationId" | "channel" | "address" | "kinds"
> {
  readonly sealedSecret?: Buffer;
  /** Set if the reader must confirm the address; `hash` hashes the token in the e-mailed link. */
  readonly confirm?: { readonly hash: Buffer; readonly perHourMax: number };
}

export const linkedColumns = columns({
  link: text<"confirm" | "stop">("link"),
  destinationId: text("destination_id"),
  orgId: text<OrgId>("org_id"),
  orgName: text("org_name"),
  address: text("address"),
});
/** The destination to which an e-mail's link belongs. Only readers of the mailbox have the link. */
export type LinkedAddress = RecordOf<typeof linkedColumns>;

export const movedColumns = columns({
  destinationId: text("destination_id"),
  orgId: text<OrgId>("org_id"),
  /** True if another destination had the new address already, so that this one was removed. */
  isThere: bool("is_there"),
});

export const logColumns = columns({
  eventId: text("event_id"),
  kind: text("kind"),
  atMs: instantMs("at"),
  /** This and the fields below are null if the event had no destination. */
  destinationId: orNull(text("destination_id")),
  address: orNull(text("address")),
  channel: orNull(text<AlertChannel>("channel")),
  state: orNull(text<"waiting" | "delivered" | "failed">("state")),
  tries: orNull(integer("tries")),
  nextAtMs: orNull(instantMs("next_at")),
  lastAnswer: orNull(text("last_answer")),
});
export type DeliveryRecord = RecordOf<typeof logColumns>;

export const dueColumns = columns({
  deliveryId: big("delivery_id"),
  tries: integer("tries"),
  event: eventColumns,
  destinationId: text("destination_id"),
  channel: text<AlertChannel>("channel"),
  address: text("address"),
  /** A webhook's secrets: the current one, then the former one while it is valid. */
  sealedSecrets: opaque<readonly Buffer[]>("sealed_secrets"),
});
export interface DueDelivery extends RecordOf<typeof dueColumns> {
  /** The token of the link that stops the alerts to this address; absent for a webhook. */
  readonly stopToken?: string;
}

/**
 * Only a `failed` delivery is tried again. `gone`: every delivery to this destination would
 * fail; `unsent`: this installation cannot send, which does not count against the destination.
 */
export interface TryAnswer {
  readonly end: "delivered" | "failed" | "refused" | "gone" | "unsent";
  /** The receiver's status, or why there was none. The delivery log shows it to people. */
  readonly answer: string;
}
