import {
  dayAndHour,
  dollars,
  mailText,
  monthName,
  nameInMail,
  PAUSE_REASONS,
  pauseSentence,
} from "../../kernel/index.ts";
import type { AlertEvent, AlertKind } from "./alert-kinds.ts";

export function alertLink(token: string, consoleUrl: string): string {
  return `${consoleUrl}/alerts/link?t=${token}`;
}

export function confirmationText(of: {
  readonly orgName: string;
  readonly askedBy: string;
  readonly address: string;
  readonly url: string;
}): ReturnType<typeof mailText> {
  const orgName = nameInMail(of.orgName);
  return mailText({
    subject: `Confirm alerts of ${orgName}`,
    sentences: [
      `${of.askedBy} wants to send alerts of the organization “${orgName}” on Token Market to ` +
        `${of.address}: low balances, used caps, purchases and the like.`,
    ],
    action: { label: "Get these alerts", url: of.url },
    foot: [
      "The link works for 7 days, once.",
      "If you do not know the sender, ignore this message: nothing is sent to you.",
    ],
  });
}

/** Writes an alert's e-mail. `consoleUrl` must not end with a slash. */
export function alertText(
  event: AlertEvent,
  consoleUrl: string,
  stopUrl: string,
): ReturnType<typeof mailText> {
  const orgName = nameInMail(event.orgName);
  const fact: Fact = (name) => {
    const value = String(event.facts[name] ?? "");
    if (name.endsWith("_usd")) return dollars(value);
    if (name === "expires_at" || name === "until") return value === "" ? "" : dayAndHour(value);
    return name === "key_name" ? nameInMail(value) : value;
  };
  const { subject, sentence, path, action } = WORDS[event.kind](fact);
  const settings = `${consoleUrl}/settings/alerts`;
  const about = `Organization: ${orgName}. Event: ${event.eventId}.`;
  const foot = `Change which alerts you get: ${settings}`;
  return mailText({
    subject: `${subject} – ${orgName}`,
    sentences: [sentence],
    action: { label: action, url: `${consoleUrl}${path}` },
    foot: [about, foot, `Stop all alerts to this address: ${stopUrl}`],
  });
}

interface Words {
  readonly subject: string;
  readonly sentence: string;
  readonly path: string;
  readonly action: string;
}

const BILLING = { path: "/billing", action: "Add credit" };
const LIMITS = { path: "/limits", action: "Open limits" };
const KEYS = { path: "/keys", action: "Open keys" };
const SETTINGS = { path: "/settings/alerts", action: "Open alert settings" };

type Fact = (name: string) => string;

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

const WORDS: Readonly<Record<AlertKind, (fact: Fact) => Words>> = {
  "balance.low": (fact) => ({
    subject: "Low balance",
    sentence:
      `The balance is ${fact("balance_usd")}, below your threshold of ` +
      `${fact("threshold_usd")}. Requests are rejected once it cannot cover them.`,
    ...BILLING,
  }),
  "org_cap.reached": (fact) => ({
    subject: capSubject(fact),
    sentence: capSentence("the organization", fact),
    ...LIMITS,
  }),
  "key_cap.reached": (fact) => ({
    subject: capSubject(fact),
    sentence: capSentence(`the key “${fact("key_name")}”`, fact),
    ...LIMITS,
  }),
  "purchase.granted": (fact) => ({
    subject: "Credit added",
    sentence: `A purchase of ${fact("amount_usd")} was credited to your balance.`,
    path: "/billing",
    action: "Open billing",
  }),
  "topup.charged": (fact) => ({
    subject: "Automatic top-up",
    sentence: `${fact("amount_usd")} was charged to your saved card and added to your balance.`,
    path: "/billing",
    action: "Open billing",
  }),
  "topup.paused": (fact) => ({
    subject: "Automatic top-up is paused",
    sentence: pauseText(fact("reason")),
    path: "/billing",
    action: "Open billing",
  }),
  "statement.ready": (fact) => ({
    subject: `Statement of ${monthName(fact("month"))}`,
    sentence:
      `The statement of ${monthName(fact("month"))} is ready: ${fact("usage_usd")} of usage, and a ` +
      `closing balance of ${fact("closing_usd")}.`,
    path: `/billing/statements/${fact("month")}`,
    action: "Open statement",
  }),
  "requests.restricted": (fact) => ({
    subject: "Requests restricted",
    sentence:
      fact("until") === ""
        ? `${nameCalls(fact)} are rejected until support has reviewed them.`
        : `${nameCalls(fact)} are limited until ${fact("until")}.`,
    ...LIMITS,
  }),
  "provider.trouble": (fact) => ({
    subject: `${fact("provider")} failed most of your calls`,
    sentence:
      `In the hour from ${fact("hour").slice(11, 16)} UTC ${fact("provider")} failed ` +
      `${fact("failed")} of the ${fact("attempts")} calls that were sent there. ` +
      "Where another provider serves the model, it was tried next.",
    path: "/usage",
    action: "Open usage",
  }),
  "key.expiring": (fact) => ({
    subject: `A key expires in less than ${fact("days")} day${fact("days") === "1" ? "" : "s"}`,
    sentence:
      `The key “${fact("key_name")}” expires at ${fact("expires_at")}. ` +
      "From then on its requests are refused. Set a later date to keep using it.",
    ...KEYS,
  }),
  "key.expired": (fact) => ({
    subject: "A key has expired",
    sentence:
      `The key “${fact("key_name")}” expired at ${fact("expires_at")}, and its requests are ` +
      "refused. It works again when you set a later date.",
    ...KEYS,
  }),
  "destination.disabled": (fact) => ({
    subject: "Alerts to a destination were disabled",
    sentence:
      `Alerts could not be delivered to ${fact("address")}, so it is disabled. ` +
      "Enable it again when it works.",
    ...SETTINGS,
  }),
  "alerts.test": () => ({
    subject: "Test alert",
    sentence: "This is a test. Alerts reach this destination.",
    ...SETTINGS,
  }),
};
