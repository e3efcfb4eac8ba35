import { dayAndHour, dollars, type Facts, plain, quoted, roleName, Told } from "./change-words.ts";

/**
 * Every action that the change log can record, with the sentence that follows the actor's name.
 * Members of an organization see the actions that are `seenBy` the `organization`; operators see
 * all. `test/support/change-doors.ts` lists which commands and routes record which actions.
 */
export const ACTIONS = {
  "org.create": seen((told) => `created the organization${told.with("called", "name")}`),
  "org.rename": seen((told) => `renamed the organization${told.move("name", quoted)}`),
  "org.cap": seen(
    (told) => `changed the organization's monthly cap${told.move("cap_usd", dollars)}`,
  ),
  "org.policy": seen((told) =>
    told.isRemoved ? "removed the routing policy" : "changed the routing policy",
  ),
  "org.keys-may-set-limits": seen((told) =>
    told.now("allowed") === false
      ? "stopped keys from lowering the organization's limits"
      : "let keys lower the organization's limits",
  ),
  "account.create": seen((told) => `signed in for the first time${signedInBy(told)}`),
  "account.link": seen((told) => `signed in another way for the first time${signedInBy(told)}`),
  "account.verify": seen("verified the e-mail address"),
  "account.email": seen(
    (told) => `changed the e-mail address at the sign-in provider${told.move("email")}`,
  ),
  "session.start": seen((told) => `signed in${signedInBy(told)}`),
  "session.end": seen("signed out"),
  "key.create": seen((told) => `created ${told.thing("key")}`),
  "key.reveal": seen("saw the first key"),
  "key.saved": seen("saved the first key, which is not shown again"),
  "key.rename": seen((told) => `renamed a key${told.move("name", quoted)}`),
  "key.cap": seen((told) => capOf("monthly", told)),
  "key.week-cap": seen((told) => capOf("weekly", told)),
  "key.day-cap": seen((told) => capOf("daily", told)),
  "key.expiry": seen(
    (told) =>
      `changed the expiry of ${told.thing("key")}${told.move("expires_at", dayAndHour, "never")}`,
  ),
  "key.models": seen(
    (told) =>
      `changed which models ${told.thing("key")} may call${told.move("models", plain, "all")}`,
  ),
  "key.tags": seen((told) => `changed the tags of ${told.thing("key")}${told.move("tags")}`),
  "key.rotate": seen(
    (told) =>
      `gave ${told.thing("key")} another secret${told.with("and let the old one work until", "old_works_until", dayAndHour)}`,
  ),
  "key.disable": seen((told) => `disabled ${told.thing("key")} permanently`),
  "limit.change": seen((told) => {
    const isOfKeys = told.now("scope") === "key";
    const ofAll = isOfKeys ? "each key" : "the organization";
    const whose = (told.now("of_one_key") ?? isOfKeys) === true ? told.thing("key") : ofAll;
    return `changed the limits of ${whose}${told.with("for", "model", plain)}${told.values(LIMITS)}`;
  }),
  "endpoint.add": seen(
    (told) => `assigned a dedicated endpoint${told.with("of", "provider", plain)}`,
  ),
  "endpoint.remove": seen(
    (told) => `removed a dedicated endpoint${told.with("of", "provider", plain)}`,
  ),
  "connection.add": seen((told) => `added a provider key${told.with("for", "provider", plain)}`),
  "connection.disable": seen((told) => `disabled ${told.thing("provider key")} permanently`),
  "credit.grant": seen((told) =>
    told.now("is_trial") === true
      ? `granted starting credit${told.with("of", "amount_usd", dollars)}`
      : `granted credit${told.with("of", "amount_usd", dollars)}`,
  ),
  "purchase.start": seen(
    (told) =>
      `started ${told.now("automatic") === true ? "an automatic top-up" : "a purchase of credit"}${told.with("for", "amount_usd", dollars)}`,
  ),
  "purchase.grant": seen((told) => `credited a purchase${told.with("of", "amount_usd", dollars)}`),
  "purchase.state": seen((told) => `changed a purchase${told.with("to", "state", plain)}`),
  "purchase.claim": seen((told) => {
    const amount = told.with("of", "amount_usd", dollars);
    const kind = told.now("kind") === "dispute" ? "dispute" : "refund";
    return told.now("is_reversed") === true
      ? `reversed a ${kind}${amount}`
      : `reported a ${kind}${amount}`;
  }),
  "purchase.recover": seen(
    (told) =>
      `took a purchase${told.with("of", "amount_usd", dollars)} over from the payment provider again`,
  ),
  "card.save": seen(
    (told) => `saved a card${told.with("ending in", "card", plain)} for automatic top-up`,
  ),
  "card.remove": seen((told) => `removed the saved card${told.with("ending in", "card", plain)}`),
  "topup.rule": seen((told) => {
    const wasOn = told.was("on") === true;
    if (told.now("on") !== true)
      return wasOn ? "turned automatic top-up off" : "changed automatic top-up, which is off";
    const start = wasOn ? "changed automatic top-up" : "turned automatic top-up on";
    const amount = told.with(wasOn ? "to" : "for", "amount_usd", dollars);
    return `${start}${amount}${told.with("below a balance of", "below_usd", dollars)}${told.with("and at most", "month_max_usd", dollars)} a month`;
  }),
  "topup.pause": seen("paused automatic top-up"),
  "company.change": seen("changed the company data for statements and invoices"),
  "hold.place": seen(
    (told) =>
      `limited ${nameCalls(told)} after unusual use${told.with("until", "until", dayAndHour)}`,
    ["reason"],
  ),
  "hold.lift": seen(
    (told) => `lifted the restriction of ${nameCalls(told)} after unusual use`,
    ["reason", "lifted_because"],
  ),
  "alert.rules": seen((told) =>
    told.isNew ? "turned the usual alerts on" : "changed what the organization is alerted of",
  ),
  "alert.destination": seen((told) => {
    const where = told.with("to", "address", plain);
    const reader = told.now("reader");
    if (reader === "asked") return `asked whether alerts may go${where || " to a destination"}`;
    if (reader === "confirmed") return `began the alerts${where}, whose reader confirmed it`;
    if (reader === "stopped") return `ended the alerts${where}, whose reader stopped them`;
    if (told.isRemoved) return `ended the alerts${where || " to a destination"}`;
    if (told.isNew) return `sent alerts${where || " to another destination"}`;
    return told.now("is_enabled") === told.was("is_enabled")
      ? "changed which alerts a destination gets"
      : `${told.now("is_enabled") === true ? "enabled" : "disabled"} a destination of alerts`;
  }),
  "alert.secret": seen(
    (told) => `rotated the secret of the webhook${told.with("at", "address", plain)}`,
  ),
  "member.invite": seen(
    (told) => `invited ${told.person("a person")}${told.with("as", "role", roleName)}`,
  ),
  "member.uninvite": seen((told) => `revoked the invitation of ${told.person("a person")}`),
  "member.join": seen((told) => `joined the organization${told.with("as", "role", roleName)}`),
  "member.role": seen(
    (told) => `changed the role of ${told.person("a member")}${told.move("role", roleName)}`,
  ),
  "member.remove": seen((told) => `removed ${told.person("a member")} from the organization`),
  "member.leave": seen("left the organization"),
  "optimize.start": seen((told) => `started ${told.thing("Optimize search")}`),
  "optimize.end": seen((told) => `ended an Optimize search${told.with("as", "state", plain)}`),
  "connection.reseal": internal("sealed stored provider keys with the first encryption key"),
  "console-link.create": internal("made a sign-in link of this machine"),
  "price.change": internal("took changed prices into use"),
  "manifest.refresh": internal("refreshed a manifest from its source"),
  "verdict.record": internal("recorded the result of a conformance run"),
  "listing.suspect": internal("marked a listing as suspect"),
  "settlement.close": internal("closed a provider's period"),
  "settlement.pay": internal("recorded the payment of a provider's period"),
  "settlement.deposit": internal("recorded a deposit with a provider"),
  "settlement.reconcile": internal("compared a provider's statement"),
  "settlement.put-back": internal("closed a provider's period again from its signed file"),
  "settlement.bear-lost": internal("owed a provider what the books had lost"),
  "ledger.retire": internal("took an exported day out of the journal"),
  "ledger.drop": internal("deleted an exported day"),
  "ledger.recover": internal("closed the open attempts of dead instances"),
  "ledger.reopen": internal("began a new life of the books"),
  "ledger.close-day": internal("signed the balances at the end of a day"),
  "backup.create": internal("made a backup"),
  "schema.migrate": internal("migrated the database schema"),
  "customer.look-up": internal((told) => {
    const found = told.now("found") === 0 ? " and found nobody" : "";
    return `looked up a customer${told.with("by", "asked")}${found}`;
  }),
  "changes.retire": internal("retired old rows of the change log"),
} as const satisfies Readonly<Record<string, Action>>;

export type ActionName = keyof typeof ACTIONS;

export interface Action {
  /** Follows the actor's name in a sentence: "… disabled the key “ci” permanently". */
  readonly says: string | ((told: Told) => string);
  readonly seenBy: "organization" | "operator";
  /** The names of this action's facts that only operators see. */
  readonly hides: readonly string[];
}

export const SHOWN_ACTIONS: readonly ActionName[] = actionNames().filter(
  (name) => ACTIONS[name].seenBy === "organization",
);

export function actionNames(): readonly ActionName[] {
  return Object.keys(ACTIONS) as ActionName[];
}

/** Returns undefined for an action that another version of this program recorded. */
export function findAction(name: string): Action | undefined {
  return actionNames().some((each) => each === name) ? ACTIONS[name as ActionName] : undefined;
}

/** Returns the words that follow the actor's name; `name` is the changed thing's name, if any. */
export function changeSentence(
  change: {
    readonly action: string;
    readonly before: Facts | null;
    readonly after: Facts | null;
  },
  name: string | null,
): string {
  const says = findAction(change.action)?.says ?? change.action;
  return typeof says === "string" ? says : says(new Told(change.before, change.after, name));
}

function seen(says: Action["says"], hides: readonly string[] = []): Action {
  return { says, seenBy: "organization", hides };
}

function internal(says: Action["says"]): Action {
  return { says, seenBy: "operator", hides: [] };
}

const LIMITS = {
  rpm: "requests per minute",
  tpm: "tokens per minute",
  concurrency: "requests at once",
} as const;

function capOf(period: string, told: Told): string {
  return `changed the ${period} cap of ${told.thing("key")}${told.move("cap_usd", dollars)}`;
}

function signedInBy(told: Told): string {
  return told.with("with", "issuer", plain);
}

function nameCalls(told: Told): string {
  const kind = told.now("kind") ?? told.was("kind");
  return kind === undefined || kind === null ? "requests" : `${String(kind)} requests`;
}
