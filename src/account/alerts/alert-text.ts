import { dayAndHour, dollars, mailText, nameInMail } from "../../kernel/index.ts";
import { orgPage } from "../identity/console-address.ts";
import { ALERT_KINDS, type AlertEvent, type Fact } from "./alert-kinds.ts";

export function alertLink(token: string, consoleUrl: string): string {
  return `${consoleUrl}/alerts/link?t=${token}`;
}

export function confirmationText(
  of: Readonly<Record<"orgName" | "askedBy" | "address" | "url", string>>,
): ReturnType<typeof mailText> {
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
  const { subject, sentence, path, action } = ALERT_KINDS[event.kind].words(fact);
  const settings = orgPage(consoleUrl, "/settings/alerts", event.orgId);
  const about = `Organization: ${orgName}. Event: ${event.eventId}.`;
  const foot = `Change which alerts you get: ${settings}`;
  return mailText({
    subject: `${subject} – ${orgName}`,
    sentences: [sentence],
    action: { label: action, url: orgPage(consoleUrl, path, event.orgId) },
    foot: [about, foot, `Stop all alerts to this address: ${stopUrl}`],
  });
}
