import { PAUSE_REASONS, pauseSentence, nameInMail } from "../../kernel/index.ts";
import { monthName } from "../billing/documents.ts";
import type { AlertEvent, AlertKind } from "./alert-kinds.ts";

/** An alert as a person reads it. */
export interface AlertText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The text of an e-mail; `consoleUrl` has no slash at its end. */
export function alertText(event: AlertEvent, consoleUrl: string): AlertText {
  const orgName = nameInMail(event.orgName);
  const fact: Fact = (name) => {
    const value = String(event.facts[name] ?? "");
    if (name.endsWith("_usd")) return toTheCent(value);
    return name === "key_name" ? nameInMail(value) : value;
  };
  const { subject, sentence, path, action } = WORDS[event.kind](fact);
  const link = `${consoleUrl}${path}`;
  const settings = `${consoleUrl}/settings/alerts`;
  const about = `Organization: ${orgName}. Event: ${event.eventId}.`;
  const foot = `Change which alerts you get: ${settings}`;
  const paragraphs = [
    `<p>${escaped(sentence)}</p>`,
    `<p><a href="${escaped(link)}">${escaped(action)}</a></p>`,
    `<p><small>${escaped(about)}<br><a href="${escaped(settings)}">Alert settings</a></small></p>`,
  ];
  return {
    subject: `${subject} – ${orgName}`,
    text: `${sentence}\n\n${action}: ${link}\n\n${about}\n${foot}\n`,
    html: `<!doctype html><html lang="en"><body>${paragraphs.join("")}</body></html>`,
  };
}

/** Cut, not rounded: a balance below a threshold never looks like it. Exact below one cent. */
function toTheCent(usd: string): string {
  const cents = usd.replace(/(\.\d\d)\d{4}$/, "$1");
  return /^-?0\.00$/.test(cents) && /[1-9]/.test(usd) ? usd : cents;
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
  return `${fact("percent")}% of a ${periodOf(fact).adjective} cap used`;
}

function capSentence(whose: string, fact: Fact): string {
  const { adjective, end } = periodOf(fact);
  return (
    `$${fact("spent_usd")} of the $${fact("cap_usd")} ${adjective} cap of ${whose} are used ` +
    `(${fact("percent")}%). At 100%, its requests are rejected until ${end}.`
  );
}

/** A cap of which no period is said is monthly. */
function periodOf(fact: Fact): { readonly adjective: string; readonly end: string } {
  switch (fact("period")) {
    case "day":
      return { adjective: "daily", end: "the next day (00:00 UTC)" };
    case "week":
      return { adjective: "weekly", end: "next Monday (00:00 UTC)" };
    default:
      return { adjective: "monthly", end: "the next month" };
  }
}

function pauseText(reason: string): string {
  const known = PAUSE_REASONS.find((each) => each === reason);
  return known === undefined ? "Automatic top-up is paused." : pauseSentence(known);
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

/** The text of each kind; `fact` reads a fact as text. */
const WORDS: Readonly<Record<AlertKind, (fact: Fact) => Words>> = {
  "balance.low": (fact) => ({
    subject: "Low balance",
    sentence:
      `The balance is $${fact("balance_usd")}, below your threshold of ` +
      `$${fact("threshold_usd")}. Requests are rejected once it cannot cover them.`,
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
    sentence: `A purchase of $${fact("amount_usd")} was credited to your balance.`,
    path: "/billing",
    action: "Open billing",
  }),
  "topup.charged": (fact) => ({
    subject: "Automatic top-up",
    sentence: `$${fact("amount_usd")} was charged to your saved card and added to your balance.`,
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
      `The statement of ${monthName(fact("month"))} is ready: $${fact("usage_usd")} of usage, ` +
      `and a closing balance of $${fact("closing_usd")}.`,
    path: `/billing/statements/${fact("month")}`,
    action: "Open statement",
  }),
  "requests.restricted": (fact) => ({
    subject: "Requests restricted",
    sentence:
      fact("until") === ""
        ? `Requests of the type “${fact("calls")}” are rejected until support has reviewed them.`
        : `Requests of the type “${fact("calls")}” are limited until ${fact("until")}.`,
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
