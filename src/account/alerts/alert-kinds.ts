import type { PoolClient } from "pg";

import { createRecordId, type OrgId } from "../../kernel/index.ts";

type AlertFact = string | number | null;

interface KindInfo {
  readonly label: string;
  /** When the event occurs, in one sentence, for the guide to alerts. */
  readonly when: string;
  /** Example facts for the guide. Dollars are decimal strings; a fact is never a secret. */
  readonly example: Readonly<Record<string, AlertFact>>;
}

/**
 * All events that organizations are alerted to. A new kind is one row here and one text in
 * `alert-text.ts`; the guide and the console list the kinds from here.
 */
export const ALERT_KINDS = {
  "balance.low": {
    label: "Low balance",
    when: "The balance fell below your threshold",
    example: { balance_usd: "4.999999", threshold_usd: "5.000000" },
  },
  "org_cap.reached": {
    label: "Organization cap",
    when: "A share of the organization's monthly cap is used",
    example: { percent: 80, spent_usd: "80.120000", cap_usd: "100.000000" },
  },
  "key_cap.reached": {
    label: "Key cap",
    when: "A share of a key's monthly, weekly or daily cap is used",
    example: {
      percent: 80,
      spent_usd: "8.100000",
      cap_usd: "10.000000",
      period: "day",
      key_id: "key_5f0c1b2a3d4e5f60718293a4",
      key_name: "production",
    },
  },
  "purchase.granted": {
    label: "Credit added",
    when: "A purchase was credited to the balance",
    example: { purchase_id: "pur_5f0c1b2a3d4e5f60718293a4", amount_usd: "50.000000" },
  },
  "topup.charged": {
    label: "Automatic top-up",
    when: "Automatic top-up charged the saved card, and the balance was credited",
    example: { purchase_id: "pur_5f0c1b2a3d4e5f60718293a4", amount_usd: "50.000000" },
  },
  "topup.paused": {
    label: "Automatic top-up paused",
    when: "Automatic top-up stopped until a person turns it on again",
    example: { reason: "card_declined" },
  },
  "statement.ready": {
    label: "Statement ready",
    when: "The statement of a month with movement is closed, within hours of the month's end",
    example: {
      month: "2027-01",
      number: "2027-01-000123",
      usage_usd: "41.250000",
      closing_usd: "8.750000",
    },
  },
  "requests.restricted": {
    label: "Requests restricted",
    when: "Requests of one kind are limited after unusual use",
    example: { calls: "chat", until: null },
  },
  "provider.trouble": {
    label: "Provider trouble",
    when: "A provider failed most of your calls in an hour, once a day for each provider",
    example: {
      provider: "acme",
      hour: "2027-01-31T14:00:00.000Z",
      attempts: 60,
      failed: 41,
    },
  },
  "key.expiring": {
    label: "Key expires soon",
    when: "A key expires within 7 days, and again within 1 day",
    example: {
      key_id: "key_5f0c1b2a3d4e5f60718293a4",
      key_name: "contractor",
      expires_at: "2027-01-31T00:00:00.000Z",
      days: 7,
    },
  },
  "key.expired": {
    label: "Key expired",
    when: "A key has expired and is refused",
    example: {
      key_id: "key_5f0c1b2a3d4e5f60718293a4",
      key_name: "contractor",
      expires_at: "2027-01-31T00:00:00.000Z",
    },
  },
  "destination.disabled": {
    label: "Destination disabled",
    when: "Another destination of alerts was disabled after failures",
    example: {
      destination_id: "dst_5f0c1b2a3d4e5f60718293a4",
      channel: "email",
      address: "ada@example.com",
    },
  },
  "alerts.test": {
    label: "Test",
    when: "You pressed Send test",
    example: {},
  },
} as const satisfies Readonly<Record<string, KindInfo>>;

export type AlertKind = keyof typeof ALERT_KINDS;

/** The kinds that a destination can choose; a test alert goes to one destination only. */
export const CHOSEN_KINDS: readonly AlertKind[] = (Object.keys(ALERT_KINDS) as AlertKind[]).filter(
  (kind) => kind !== "alerts.test",
);

/** Undefined for an unknown kind: a later version of the program may have stored it. */
export function parseAlertKind(text: string): AlertKind | undefined {
  return Object.hasOwn(ALERT_KINDS, text) ? (text as AlertKind) : undefined;
}

/** Dollars are decimal strings. No fact is a secret, since e-mails and webhooks contain them. */
type AlertFacts = Readonly<Record<string, AlertFact>>;

export interface AlertEvent {
  readonly eventId: string;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  readonly atMs: number;
}

export interface NewEvent {
  readonly orgId: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  /**
   * Two events with the same `once` are reported only once. Its first word keeps the names of
   * different kinds apart, such as `purchase pur_…`.
   */
  readonly once?: string;
}

/**
 * Stores an event and one delivery per destination that wants its kind, in the caller's
 * transaction. False if the event was reported before. `statement-keeping.ts` calls the same
 * database function within its own SQL.
 */
export async function reportEvent(
  client: Pick<PoolClient, "query">,
  { orgId, kind, facts, once }: NewEvent,
): Promise<boolean> {
  const event = [createRecordId("evt"), orgId, kind, JSON.stringify(facts), once ?? null];
  const { rows } = await client.query<{ is_new: boolean }>(REPORT_SQL, event);
  return rows[0]?.is_new === true;
}

const REPORT_SQL = "select alert_report($1, $2, $3, $4::jsonb, $5) as is_new";
