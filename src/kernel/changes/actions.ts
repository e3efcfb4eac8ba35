/**
 * Every action of the change log: what was done, as a customer reads it after the actor's name,
 * and who sees it. `organization`: its owners too, in the console; `operator`: operators only. What is
 * not in this table cannot be recorded, and each writing command and route has one of these
 * (`test/support/change-doors.ts`).
 */
export const ACTIONS = {
  "org.create": seen("created the organization"),
  "org.rename": seen("renamed the organization"),
  "org.cap": seen("changed the organization's monthly spend cap"),
  "org.policy": seen("changed the routing policy"),
  "org.keys-may-set-limits": seen("changed whether keys may set the organization's limits"),
  "account.create": seen("signed in for the first time"),
  "account.link": seen("signed in another way for the first time"),
  "account.verify": seen("verified the e-mail address"),
  "account.email": seen("changed the e-mail address at the sign-in provider"),
  "session.start": seen("signed in"),
  "session.end": seen("signed out"),
  "key.create": seen("created a key"),
  "key.reveal": seen("saw the first key"),
  "key.saved": seen("saved the first key, which is not shown again"),
  "key.rename": seen("renamed a key"),
  "key.cap": seen("changed the monthly spend cap of a key"),
  "key.week-cap": seen("changed the weekly spend cap of a key"),
  "key.day-cap": seen("changed the daily spend cap of a key"),
  "key.expiry": seen("changed when a key expires"),
  "key.models": seen("changed which models a key may call"),
  "key.tags": seen("changed the tags of a key"),
  "key.rotate": seen("gave a key another secret"),
  "key.disable": seen("disabled a key permanently"),
  "limit.change": seen("changed a limit"),
  "endpoint.add": seen("assigned a dedicated endpoint"),
  "endpoint.remove": seen("removed a dedicated endpoint"),
  "connection.add": seen("added a provider key"),
  "connection.disable": seen("disabled a provider key permanently"),
  "credit.grant": seen("granted credit"),
  "purchase.start": seen("started to buy credit"),
  "purchase.grant": seen("credited a purchase"),
  "purchase.state": seen("changed the state of a purchase"),
  "purchase.claim": seen("reported a refund or a dispute"),
  "purchase.recover": seen("took a purchase over from the payment provider again"),
  "card.save": seen("saved a card for automatic top-up"),
  "card.remove": seen("removed the saved card"),
  "topup.rule": seen("changed automatic top-up"),
  "topup.pause": seen("paused automatic top-up"),
  "company.change": seen("changed the company data for statements and invoices"),
  "hold.place": seen("limited requests after unusual use", ["reason"]),
  "hold.lift": seen("lifted a restriction after unusual use", ["reason", "lifted_because"]),
  "alert.rules": seen("changed what the organization is alerted of"),
  "alert.destination": seen("changed a destination of alerts"),
  "alert.secret": seen("rotated the secret of a webhook"),
  "member.invite": seen("invited a person to the organization"),
  "member.uninvite": seen("revoked an invitation"),
  "member.join": seen("joined the organization"),
  "member.role": seen("changed the role of a member"),
  "member.remove": seen("removed a member"),
  "member.leave": seen("left the organization"),
  "optimize.start": seen("started an Optimize search"),
  "optimize.end": seen("ended an Optimize search"),
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
  "changes.retire": internal("retired old rows of the change log"),
} as const satisfies Readonly<Record<string, Action>>;

export type ActionName = keyof typeof ACTIONS;

export interface Action {
  /** The change, after the actor's name: "… disabled a key permanently". */
  readonly says: string;
  readonly seenBy: "organization" | "operator";
  /** Facts of it that only operators see. */
  readonly hides: readonly string[];
}

/** The names of the actions that organizations see. */
export const SHOWN_ACTIONS: readonly ActionName[] = actionNames().filter(
  (name) => ACTIONS[name].seenBy === "organization",
);

export function actionNames(): readonly ActionName[] {
  return Object.keys(ACTIONS) as ActionName[];
}

/** Undefined: an action of another version of this program. */
export function findAction(name: string): Action | undefined {
  return actionNames().some((each) => each === name) ? ACTIONS[name as ActionName] : undefined;
}

function seen(says: string, hides: readonly string[] = []): Action {
  return { says, seenBy: "organization", hides };
}

function internal(says: string): Action {
  return { says, seenBy: "operator", hides: [] };
}
