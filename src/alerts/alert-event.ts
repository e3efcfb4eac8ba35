import type { OrgId } from "../core/index.ts";

/** What can be reported. */
export const ALERT_KINDS = [
  "balance.low",
  "org_cap.reached",
  "key_cap.reached",
  "purchase.granted",
  "topup.charged",
  "topup.paused",
  "requests.restricted",
  "destination.disabled",
  "alerts.test",
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** Dollars are decimal strings; no secret. */
export type AlertFacts = Readonly<Record<string, string | number | null>>;

/** Something that was noticed, once. */
export interface AlertEvent {
  readonly eventId: string;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  readonly atMs: number;
}

/** What is to be stored of something that was noticed. */
export interface NewEvent {
  readonly orgId: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  /** What happens once and is reported once. */
  readonly once?: string;
}
