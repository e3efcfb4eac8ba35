import type { ChangedBy } from "../changes/index.ts";
import type { MicroUsd, OrgId } from "../core/index.ts";
import type { AlertEvent } from "./alert-event.ts";

/** Which alerts an organization has chosen. */
export interface AlertRules {
  /** Null: no alert. */
  readonly balanceBelowMicroUsd: MicroUsd | null;
  /** Percent of every monthly cap, of the organization and of its keys. */
  readonly capPercents: readonly number[];
  readonly hasPurchases: boolean;
  readonly hasRestrictions: boolean;
  readonly hasKeyExpiry: boolean;
}

/** How alerts are delivered. */
export type AlertChannel = "email" | "webhook";

/** Why one is disabled: by a person, after days of failures, or because its address answered 410. */
export type DisabledReason = "paused" | "failing" | "gone";

/** Where alerts go. */
export interface AlertDestination {
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
  /** Which events go there; null: all. */
  readonly kinds: readonly string[] | null;
  readonly createdAtMs: number;
  readonly failingSinceMs: number | null;
  /** One that was removed is not shown. */
  readonly disabledAtMs: number | null;
  readonly disabledReason: DisabledReason | null;
  /** Until then deliveries are signed by the secret of before a rotation too. */
  readonly formerSecretUntilMs: number | null;
}

export interface NewDestination extends Pick<
  AlertDestination,
  "destinationId" | "channel" | "address" | "kinds"
> {
  /** Of a webhook alone. */
  readonly sealedSecret?: Buffer;
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

/** What customers set and see; every verb is of one organization. */
export interface AlertStore {
  rules(orgId: OrgId): Promise<AlertRules>;
  /** Changes the rules that are given; the others stay. */
  changeRules(orgId: OrgId, change: Partial<AlertRules>, by: ChangedBy): Promise<void>;
  destinations(orgId: OrgId): Promise<readonly AlertDestination[]>;
  /** Has it as many destinations as there may be? Asked before what costs more. */
  isFull(orgId: OrgId): Promise<boolean>;
  /** `taken`: it is there already; `full`: there are as many as there may be. */
  addDestination(
    orgId: OrgId,
    wanted: NewDestination,
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | "full">;
  /**
   * Disables or enables one, or changes which events go there. What waits for one that is disabled
   * is not delivered. Undefined: there is none; `taken`: another one has its address by now.
   */
  changeDestination(
    orgId: OrgId,
    destinationId: string,
    change: { readonly isEnabled?: boolean; readonly kinds?: readonly string[] | null },
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | undefined>;
  /** Replaces a webhook's secret; the former one stays valid for a day. Undefined: there is none. */
  rotateSecret(
    orgId: OrgId,
    destinationId: string,
    sealedSecret: Buffer,
    by: ChangedBy,
  ): Promise<AlertDestination | undefined>;
  /** False: there is none. */
  removeDestination(orgId: OrgId, destinationId: string, by: ChangedBy): Promise<boolean>;
  /**
   * Queues a test event for one destination alone. False: too many wait for it; undefined: there is
   * no enabled one.
   */
  sendTest(orgId: OrgId, destinationId: string): Promise<string | false | undefined>;
  /**
   * Queues a failed delivery again, with the id that it had. `busy`: it has not failed, or a try of it
   * is under way; undefined: there is none, or its destination is disabled.
   */
  sendAgain(
    orgId: OrgId,
    destinationId: string,
    eventId: string,
  ): Promise<"busy" | true | undefined>;
  /** The newest events with their deliveries. */
  log(orgId: OrgId): Promise<readonly DeliveryRecord[]>;
}

/** Webhooks' secrets, of all organizations. */
export interface SealedSecret {
  readonly destinationId: string;
  readonly orgId: OrgId;
  readonly sealed: Buffer;
  readonly isFormer: boolean;
}

/** For `connection reseal` and `doctor`. */
export interface SealedSecretStore {
  /** In the order of the destinations' ids, behind `after`; those of at most `max` destinations. */
  listSealed(after: string, max: number): Promise<readonly SealedSecret[]>;
  /** Replaces secrets that are as they were; answers how many. */
  reseal(
    changed: readonly (SealedSecret & { readonly resealed: Buffer })[],
    by: ChangedBy,
  ): Promise<number>;
}

/** A delivery that this process has leased. */
export interface DueDelivery {
  readonly deliveryId: bigint;
  readonly tries: number;
  readonly event: AlertEvent;
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
  /** Of a webhook: the one in force, and the former one as long as it is valid. */
  readonly sealedSecrets: readonly Buffer[];
}

/** How a try went. `refused`: another one would end the same; `gone`: so would every other delivery. */
export interface TryAnswer {
  readonly end: "delivered" | "failed" | "refused" | "gone";
  /** For people: a status, or why there was none. */
  readonly answer: string;
}

/** How a try ended. `retryMs` undefined: it was the last one. */
export type DeliveryEnd =
  | { readonly isDelivered: true; readonly answer: string }
  | {
      readonly isDelivered: false;
      readonly answer: string;
      readonly retryMs: number | undefined;
      /** Nothing is to be delivered there any more. */
      readonly isGone: boolean;
    };

/** What the worker works with. */
export interface AlertQueue {
  /** Compares the figures with the rules; answers how many events that made. */
  notice(): Promise<number>;
  /**
   * Leases what is due, at most so many of one destination at once, whichever process has them: no
   * other process gets it before the lease ends.
   */
  takeDue(limit: number): Promise<readonly DueDelivery[]>;
  /** Records the end of a try; one whose lease was taken over changes nothing. */
  end(delivery: DueDelivery, end: DeliveryEnd): Promise<void>;
}
