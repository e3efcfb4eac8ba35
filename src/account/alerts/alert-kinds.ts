import type { PoolClient } from "pg";

import {
  columns,
  createRecordId,
  instantMs,
  monthName,
  opaque,
  type OrgId,
  PAUSE_REASONS,
  pauseSentence,
  type RecordOf,
  text,
} from "../../kernel/index.ts";

type AlertFact = string | number | null;

type Words = Readonly<Record<"subject" | "sentence" | "path" | "action", string>>;

const ADD_CREDIT = { path: "/billing", action: "Add credit" };
const BILLING = { path: "/billing", action: "Open billing" };
const LIMITS = { path: "/limits", action: "Open limits" };
const KEYS = { path: "/keys", action: "Open keys" };
const SETTINGS = { path: "/settings/alerts", action: "Open alert settings" };

export type Fact = (name: string) => string;

function capSubject(fact: Fact): string {
  return `${fact("percent")}% of a ${describePeriod(fact).adjective} cap used`;
}

function capSentence(whose: string, fact: Fact): string {
  const { adjective, end } = describePeriod(fact);
  return (
    `${fact("spent_usd")} of the ${fact("cap_usd")} ${adjective} cap of ${whose} are used ` +
    `(${fact("percent")}%). At 100%, its requests are rejected until ${end}.`
  );
}

/** Facts without a period describe a monthly cap. */
function describePeriod(fact: Fact): { readonly adjective: string; readonly end: string } {
  switch (fact("period")) {
    case "day":
      return { adjective: "daily", end: "the next day (00:00 UTC)" };
    case "week":
      return { adjective: "weekly", end: "next Monday (00:00 UTC)" };
    default:
      return { adjective: "monthly", end: "the next month" };
  }
}

function nameCalls(fact: Fact): string {
  const calls = fact("calls");
  return `${calls.charAt(0).toUpperCase()}${calls.slice(1)} requests`;
}

function pauseText(reason: string): string {
  const known = PAUSE_REASONS.find((each) => each === reason);
  return known === undefined ? "Automatic top-up is paused." : pauseSentence(known);
}

const EXPIRING_KEY = {
  key_id: "key_5f0c1b2a3d4e5f60718293a4",
  key_name: "contractor",
  expires_at: "2027-01-31T00:00:00.000Z",
};

interface KindInfo {
  readonly label: string;
  /** When the event occurs, in one sentence, for the guide to alerts. */
  readonly when: string;
  readonly example: Readonly<Record<string, AlertFact>>;
  readonly words: (fact: Fact) => Words;
}

/** All events that organizations are alerted to; the guide and the console list them from here. */
export const ALERT_KINDS = {
  "balance.low": {
    label: "Low balance",
    when: "The balance fell below your threshold",
    example: { balance_usd: "4.999999", threshold_usd: "5.000000" },
    words: (fact) => ({
      subject: "Low balance",
      sentence:
        `The balance is ${fact("balance_usd")}, below your threshold of ` +
        `${fact("threshold_usd")}. Requests are rejected once it cannot cover them.`,
      ...ADD_CREDIT,
    }),
  },
  "org_cap.reached": {
    label: "Organization cap",
    when: "A share of the organization's monthly cap is used",
    example: { percent: 80, spent_usd: "80.120000", cap_usd: "100.000000" },
    words: (fact) => ({
      subject: capSubject(fact),
      sentence: capSentence("the organization", fact),
      ...LIMITS,
    }),
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
    words: (fact) => ({
      subject: capSubject(fact),
      sentence: capSentence(`the key “${fact("key_name")}”`, fact),
      ...LIMITS,
    }),
  },
  "purchase.granted": {
    label: "Credit added",
    when: "A purchase was credited to the balance",
    example: { purchase_id: "pur_5f0c1b2a3d4e5f60718293a4", amount_usd: "50.000000" },
    words: (fact) => ({
      subject: "Credit added",
      sentence: `A purchase of ${fact("amount_usd")} was credited to your balance.`,
      ...BILLING,
    }),
  },
  "topup.charged": {
    label: "Automatic top-up",
    when: "Automatic top-up charged the saved card, and the balance was credited",
    example: { purchase_id: "pur_5f0c1b2a3d4e5f60718293a4", amount_usd: "50.000000" },
    words: (fact) => ({
      subject: "Automatic top-up",
      sentence: `${fact("amount_usd")} was charged to your saved card and added to your balance.`,
      ...BILLING,
    }),
  },
  "topup.paused": {
    label: "Automatic top-up paused",
    when: "Automatic top-up stopped until a person turns it on again",
    example: { reason: "card_declined" },
    words: (fact) => ({
      subject: "Automatic top-up is paused",
      sentence: pauseText(fact("reason")),
      ...BILLING,
    }),
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
    words: (fact) => ({
      subject: `Statement of ${monthName(fact("month"))}`,
      sentence:
        `The statement of ${monthName(fact("month"))} is ready: ${fact("usage_usd")} of usage, and a ` +
        `closing balance of ${fact("closing_usd")}.`,
      path: `/billing/statements/${fact("month")}`,
      action: "Open statement",
    }),
  },
  "requests.restricted": {
    label: "Requests restricted",
    when: "Requests of one kind are limited after unusual use",
    example: { calls: "chat", until: null },
    words: (fact) => ({
      subject: "Requests restricted",
      sentence:
        fact("until") === ""
          ? `${nameCalls(fact)} are rejected until support has reviewed them.`
          : `${nameCalls(fact)} are limited until ${fact("until")}.`,
      ...LIMITS,
    }),
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
    words: (fact) => ({
      subject: `${fact("provider")} failed most of your calls`,
      sentence:
        `In the hour from ${fact("hour").slice(11, 16)} UTC ${fact("provider")} failed ` +
        `${fact("failed")} of the ${fact("attempts")} calls that were sent there. ` +
        "Where another provider serves the model, it was tried next.",
      path: "/usage",
      action: "Open usage",
    }),
  },
  "key.expiring": {
    label: "Key expires soon",
    when: "A key expires within 7 days, and again within 1 day",
    example: { ...EXPIRING_KEY, days: 7 },
    words: (fact) => ({
      subject: `A key expires in less than ${fact("days")} day${fact("days") === "1" ? "" : "s"}`,
      sentence:
        `The key “${fact("key_name")}” expires at ${fact("expires_at")}. ` +
        "From then on its requests are refused. Set a later date to keep using it.",
      ...KEYS,
    }),
  },
  "key.expired": {
    label: "Key expired",
    when: "A key has expired and is refused",
    example: EXPIRING_KEY,
    words: (fact) => ({
      subject: "A key has expired",
      sentence:
        `The key “${fact("key_name")}” expired at ${fact("expires_at")}, and its requests are ` +
        "refused. It works again when you set a later date.",
      ...KEYS,
    }),
  },
  "destination.disabled": {
    label: "Destination disabled",
    when: "Another destination of alerts was disabled after failures",
    example: {
      destination_id: "dst_5f0c1b2a3d4e5f60718293a4",
      channel: "email",
      address: "ada@example.com",
    },
    words: (fact) => ({
      subject: "Alerts to a destination were disabled",
      sentence:
        `Alerts could not be delivered to ${fact("address")}, so it is disabled. ` +
        "Enable it again when it works.",
      ...SETTINGS,
    }),
  },
  "alerts.test": {
    label: "Test",
    when: "You pressed Send test",
    example: {},
    words: () => ({
      subject: "Test alert",
      sentence: "This is a test. Alerts reach this destination.",
      ...SETTINGS,
    }),
  },
} as const satisfies Readonly<Record<string, KindInfo>>;

export type AlertKind = keyof typeof ALERT_KINDS;

/** The kinds that a destination can choose: all but the test alert, which a person sends to it. */
export const CHOSEN_KINDS: readonly AlertKind[] = (Object.keys(ALERT_KINDS) as AlertKind[]).filter(
  (kind) => kind !== "alerts.test",
);

/** Undefined for an unknown kind: a later version of the program may have stored it. */
export function parseAlertKind(kind: string): AlertKind | undefined {
  return Object.hasOwn(ALERT_KINDS, kind) ? (kind as AlertKind) : undefined;
}

/** Amounts are decimal strings of dollars. No fact is a secret: e-mails and webhooks show facts. */
type AlertFacts = Readonly<Record<string, AlertFact>>;

export const eventColumns = columns({
  eventId: text("event_id"),
  orgId: text<OrgId>("org_id"),
  orgName: text("org_name"),
  kind: text<AlertKind>("kind"),
  facts: opaque<AlertFacts>("facts"),
  atMs: instantMs("at"),
});
export type AlertEvent = RecordOf<typeof eventColumns>;

export interface NewEvent extends Pick<AlertEvent, "kind" | "facts"> {
  readonly orgId: string;
  /** Of events with the same `once`, only the first is reported; no two kinds share a value. */
  readonly once?: string;
}

/**
 * Stores an event and one delivery per enabled destination that wants its kind, in the caller's
 * transaction. False if the event was reported before. `postgres-statement-store.ts` calls the
 * same database function.
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
