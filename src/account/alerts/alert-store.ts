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
import type { AlertEvent } from "./alert-kinds.ts";

export const ruleColumns = columns({
  /** Null for no alert. */
  balanceBelowMicroUsd: orNull(micro("balance_below")),
  /** Percent of every monthly cap, of the organization and of its keys. */
  capPercents: opaque<readonly number[]>("cap_percents"),
  hasPurchases: computed("purchases_since is not null", bool("has_purchases")),
  hasRestrictions: computed("restrictions_since is not null", bool("has_restrictions")),
  hasKeyExpiry: computed("key_expiry_since is not null", bool("has_key_expiry")),
  /** Providers that failed most of the organization's calls in an hour. */
  hasTrouble: computed("trouble_since is not null", bool("has_trouble")),
  /** The threshold is a fifth of the last purchase, and at least 5 dollars. */
  isBalanceFollowing: bool("balance_follows"),
});
export type AlertRules = RecordOf<typeof ruleColumns>;

export type AlertChannel = "email" | "webhook";

/** Names a destination in the change log, which never forgets: an e-mail address is masked. */
export function nameDestination(at: { readonly channel: string; readonly address: string }): Facts {
  const { channel, address } = at;
  return { channel, address: channel === "email" ? maskedEmail(address) : address };
}

/**
 * Why a destination is disabled: by a person, after days of failures, because its address answered
 * 410, or because its reader has not confirmed it yet or has stopped it.
 */
export type DisabledReason = "paused" | "failing" | "gone" | "unconfirmed" | "stopped";

export const destinationColumns = columns({
  destinationId: text("destination_id"),
  channel: text<AlertChannel>("channel"),
  address: text("address"),
  /** The events that go there; null for all. */
  kinds: orNull(opaque<readonly string[]>("kinds")),
  createdAtMs: instantMs("created_at"),
  failingSinceMs: orNull(instantMs("failing_since")),
  /** A removed destination is not shown. */
  disabledAtMs: orNull(instantMs("disabled_at")),
  disabledReason: orNull(text<DisabledReason>("disabled_reason")),
  /** Until then deliveries are also signed with the secret from before a rotation. */
  formerSecretUntilMs: computed(
    "case when former_until > now() then former_until end",
    orNull(instantMs("former_until")),
  ),
  /** When the reader's link for confirming it expires; null if it needs no confirmation. */
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
  /** Present only for a webhook. */
  readonly sealedSecret?: Buffer;
  /** Present for an address whose reader has to confirm it first. */
  readonly confirm?: { readonly hash: Buffer; readonly nowMs: number; readonly perHourMax: number };
}

export const linkedColumns = columns({
  link: text<"confirm" | "stop">("link"),
  destinationId: text("destination_id"),
  orgId: text<OrgId>("org_id"),
  orgName: text("org_name"),
  address: text("address"),
});
/** The destination of a link in an e-mail; whoever has the link reads that mailbox. */
export type LinkedAddress = RecordOf<typeof linkedColumns>;

export const logColumns = columns({
  eventId: text("event_id"),
  kind: text("kind"),
  atMs: instantMs("at"),
  /** Null with the fields below if there was no destination. */
  destinationId: orNull(text("destination_id")),
  address: orNull(text("address")),
  channel: orNull(text<AlertChannel>("channel")),
  state: orNull(text<"waiting" | "delivered" | "failed">("state")),
  tries: orNull(integer("tries")),
  nextAtMs: orNull(instantMs("next_at")),
  lastAnswer: orNull(text("last_answer")),
});
/** One event on its way to one destination. */
export type DeliveryRecord = RecordOf<typeof logColumns>;

export const dueColumns = columns({
  deliveryId: big("delivery_id"),
  tries: integer("tries"),
  event: columns<AlertEvent>({
    eventId: text("event_id"),
    orgId: text("org_id"),
    orgName: text("org_name"),
    kind: text("kind"),
    facts: opaque("facts"),
    atMs: instantMs("at"),
  }),
  destinationId: text("destination_id"),
  channel: text<AlertChannel>("channel"),
  address: text("address"),
  /** The secrets of a webhook: the one in force, and the former one as long as it is valid. */
  sealedSecrets: opaque<readonly Buffer[]>("sealed_secrets"),
});
/** A delivery that this process has leased. */
export interface DueDelivery extends RecordOf<typeof dueColumns> {
  /** For the link in an e-mail that stops the alerts to its address. */
  readonly stopToken?: string;
}

/**
 * How a try ended. `refused`: another try would end the same; `gone`: every delivery to this
 * destination would; `unsent`: this installation cannot send, which is not the destination's fault.
 */
export interface TryAnswer {
  readonly end: "delivered" | "failed" | "refused" | "gone" | "unsent";
  /** For people: a status, or the reason why there was none. */
  readonly answer: string;
}

/** The result of a delivery attempt. `retryMs` is undefined after the last one. */
export type DeliveryEnd =
  | { readonly isDelivered: true; readonly answer: string }
  | {
      readonly isDelivered: false;
      readonly answer: string;
      readonly retryMs: number | undefined;
      /** True if nothing may be delivered there any more. */
      readonly isGone: boolean;
      readonly isUnsent: boolean;
    };
