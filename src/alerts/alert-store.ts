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
}

/** How alerts are delivered. */
export type AlertChannel = "email";

/** Where alerts go. */
export interface AlertDestination {
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
  readonly createdAtMs: number;
  readonly failingSinceMs: number | null;
  /** Set: disabled after days of failures. One that was removed is not shown. */
  readonly disabledAtMs: number | null;
}

/** One event on its way to one destination. */
export interface DeliveryRecord {
  readonly eventId: string;
  readonly kind: string;
  readonly atMs: number;
  /** Null: there was no destination. */
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
  /** `taken`: it is there already; `full`: there are as many as there may be. */
  addDestination(
    orgId: OrgId,
    wanted: {
      readonly destinationId: string;
      readonly channel: AlertChannel;
      readonly address: string;
    },
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | "full">;
  /** False: there is none. */
  removeDestination(orgId: OrgId, destinationId: string, by: ChangedBy): Promise<boolean>;
  /** Queues a test event for one destination alone; undefined: there is none. */
  sendTest(orgId: OrgId, destinationId: string): Promise<string | undefined>;
  /** The newest events with their deliveries. */
  log(orgId: OrgId): Promise<readonly DeliveryRecord[]>;
}

/** A delivery that this process has leased. */
export interface DueDelivery {
  readonly deliveryId: bigint;
  readonly tries: number;
  readonly event: AlertEvent;
  readonly destinationId: string;
  readonly channel: AlertChannel;
  readonly address: string;
}

/** How a try ended. `retryMs` undefined: it was the last one. */
export type DeliveryEnd =
  | { readonly isDelivered: true; readonly answer: string }
  | { readonly isDelivered: false; readonly answer: string; readonly retryMs: number | undefined };

/** What the worker works with. */
export interface AlertQueue {
  /** Compares the figures with the rules; answers how many events that made. */
  notice(): Promise<number>;
  /** Leases what is due: no other process gets it before the lease ends. */
  takeDue(limit: number): Promise<readonly DueDelivery[]>;
  /** Records the end of a try; one whose lease was taken over changes nothing. */
  end(delivery: DueDelivery, end: DeliveryEnd): Promise<void>;
}
