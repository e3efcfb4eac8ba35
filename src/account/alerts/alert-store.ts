import { type Facts, maskedEmail, type MicroUsd, type OrgId } from "../../kernel/index.ts";
import type { AlertEvent } from "./alert-kinds.ts";

/** The alerts that an organization has chosen. */
export interface AlertRules {
  /** Null for no alert. */
  readonly balanceBelowMicroUsd: MicroUsd | null;
  /** Percent of every monthly cap, of the organization and of its keys. */
  readonly capPercents: readonly number[];
  readonly hasPurchases: boolean;
  readonly hasRestrictions: boolean;
  readonly hasKeyExpiry: boolean;
  /** Providers that failed most of the organization's calls in an hour. */
  readonly hasTrouble: boolean;
  /** The threshold is a fifth of what was bought last, and at least 5 dollars. */
  readonly isBalanceFollowing: boolean;
}

/** The channel of a delivery. */
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

/** A destination of alerts. */
export interface AlertDestination {
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
  /** The events that go there; null for all. */
  readonly kinds: readonly string[] | null;
  readonly createdAtMs: number;
  readonly failingSinceMs: number | null;
  /** One that was removed is not shown. */
  readonly disabledAtMs: number | null;
  readonly disabledReason: DisabledReason | null;
  /** Until then deliveries are also signed with the secret from before a rotation. */
  readonly formerSecretUntilMs: number | null;
  /** When the link expires with which its reader confirms it; null: nobody has to. */
  readonly confirmUntilMs: number | null;
}

export interface NewDestination extends Pick<
  AlertDestination,
  "destinationId" | "channel" | "address" | "kinds"
> {
  /** Present only for a webhook. */
  readonly sealedSecret?: Buffer;
  /** Present for an address whose reader has to confirm it first. */
  readonly confirm?: { readonly hash: Buffer; readonly nowMs: number; readonly perHourMax: number };
}

/** What a link in an e-mail does: whoever has it reads that mailbox. */
export interface LinkedAddress {
  readonly link: "confirm" | "stop";
  readonly destinationId: string;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly address: string;
}

/** One event on its way to one destination. */
export interface DeliveryRecord {
  readonly eventId: string;
  readonly kind: string;
  readonly atMs: number;
  /** Null with the fields below: there was no destination. */
  readonly destinationId: string | null;
  readonly address: string | null;
  readonly channel: AlertChannel | null;
  readonly state: "waiting" | "delivered" | "failed" | null;
  readonly tries: number | null;
  readonly nextAtMs: number | null;
  readonly lastAnswer: string | null;
}

/** A delivery that this process has leased. */
export interface DueDelivery {
  readonly deliveryId: bigint;
  readonly tries: number;
  readonly event: AlertEvent;
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
  /** The secrets of a webhook: the one in force, and the former one as long as it is valid. */
  readonly sealedSecrets: readonly Buffer[];
  /** For the link in an e-mail that stops the alerts to its address. */
  readonly stopToken?: string;
}

/**
 * How a try went. `refused`: another one would end the same; `gone`: so would every other delivery;
 * `unsent`: this installation cannot send, for which the destination is not to blame.
 */
export interface TryAnswer {
  readonly end: "delivered" | "failed" | "refused" | "gone" | "unsent";
  /** For people: a status, or why there was none. */
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
