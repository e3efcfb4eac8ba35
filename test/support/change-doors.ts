import type { ActionName } from "../../src/kernel/changes/actions.ts";
import { ROUTES } from "../../src/account/console-api/contract.ts";
import { OPERATIONS } from "../../src/account/console-api/operations.ts";
import type { RouteContract } from "../../src/account/console-api/contract/shared.ts";

const contracts = Object.entries(ROUTES) as [string, RouteContract][];

/** The actions that each command of `OPERATIONS` may record; `[]` if it only reads. */
export const OPERATION_COMMANDS: Readonly<Record<string, readonly ActionName[]>> =
  Object.fromEntries(
    OPERATIONS.map(({ face, contract: { changes = [] } }) => [
      face.usage.replace(/ [<[].*$/, ""),
      changes,
    ]),
  );

/** All other commands that change something, with the actions that they may record. */
export const WRITING_COMMANDS: Readonly<Record<string, readonly ActionName[]>> = {
  init: ["schema.migrate", "org.create", "credit.grant", "key.create", "verdict.record"],
  serve: [
    "schema.migrate",
    "price.change",
    "hold.place",
    "listing.suspect",
    "purchase.grant",
    "purchase.start",
    "alert.rules",
    "topup.pause",
    "card.save",
    "alert.destination",
  ],
  dev: ["schema.migrate", "price.change", "org.create", "credit.grant", "key.create"],
  "billing recover": [
    "purchase.recover",
    "purchase.grant",
    "purchase.state",
    "purchase.claim",
    "alert.rules",
  ],
  "backup create": ["backup.create"],
  "console-link": ["console-link.create"],
  "manifest refresh": ["manifest.refresh"],
  "conformance run": ["verdict.record"],
  "conformance import": ["verdict.record"],
  "conformance watch": ["verdict.record"],
  "ledger audit": ["ledger.close-day"],
  "ledger recover": ["ledger.recover"],
  "ledger reopen": ["ledger.reopen"],
  "ledger retire": ["ledger.retire", "ledger.drop"],
  migrate: ["schema.migrate"],
};

export const READING_COMMANDS: readonly string[] = [
  "version",
  "probe",
  "manifest check",
  "manifest schema",
  "manifest import",
  "manifest diff",
  "manifest init",
  "catalog build",
  "import litellm",
  "import openrouter",
  "ledger export",
  "ledger verify-export",
  "backup verify",
  "changes verify",
  "simulate",
  "doctor",
];

/**
 * Commands that have no database in which to record a change. `backup restore` must restore exactly
 * what was backed up; where commits were lost, the `ledger reopen` that follows is recorded.
 */
export const UNRECORDED_COMMANDS: readonly string[] = ["backup restore"];

/** The actions that each route of the console may record, by its contract or by this table. */
export const WRITING_CONSOLE_ROUTES: Readonly<Record<string, readonly ActionName[]>> = {
  ...Object.fromEntries(
    contracts.flatMap(([name, { changes = [] }]) => (changes.length > 0 ? [[name, changes]] : [])),
  ),
  "POST /api/console/reveal": ["key.reveal"],
  "POST /api/console/reveal/saved": ["key.saved"],
  "PATCH /api/console/settings": ["org.rename", "org.keys-may-set-limits"],
  "POST /api/console/leave": [
    "member.leave",
    "org.create",
    "alert.rules",
    "alert.destination",
    "member.uninvite",
  ],
  "POST /api/console/invitations": ["member.invite"],
  "POST /api/console/invitations/:invitation_id/renew": ["member.invite"],
  "POST /api/console/received-invitations/:invitation_id/accept": ["member.join"],
  "POST /api/console/organizations/own": ["key.create", "credit.grant"],
  "POST /api/console/sessions/:session_id/end": ["session.end"],
  "POST /api/console/purchases": ["purchase.start", "purchase.state"],
  // On return from the checkout the program asks the payment provider for the result.
  "GET /api/console/purchases/:purchase_id": ["purchase.grant", "purchase.state", "alert.rules"],
  "PATCH /api/console/top-up": ["topup.rule"],
  "POST /api/console/top-up/card/remove": ["card.remove", "topup.rule"],
  "POST /api/console/company": ["company.change"],
  "PATCH /api/console/alerts": ["alert.rules"],
  "POST /api/console/alerts/destinations": ["alert.destination"],
  "PATCH /api/console/alerts/destinations/:destination_id": ["alert.destination"],
  "POST /api/console/alerts/destinations/:destination_id/rotate": ["alert.secret"],
  "POST /api/console/alerts/destinations/:destination_id/remove": ["alert.destination"],
  "POST /api/admission-limits": ["limit.change"],
  "POST /api/console/optimize": ["optimize.start", "optimize.end"],
  "POST /api/console/optimize/:search_id/stop": ["optimize.end"],
};

export const READING_CONSOLE_ROUTES: readonly string[] = [
  ...contracts.flatMap(([name, { changes }]) => (changes?.length === 0 ? [name] : [])),
  "POST /api/console/received-invitations/find",
  "POST /api/console/organizations/:org_id/switch",
  "POST /api/console/alerts/destinations/:destination_id/test",
  "POST /api/console/alerts/destinations/:destination_id/send-again",
  "POST /api/console/optimize-estimate",
  "POST /api/console/top-up/card",
  "POST /api/manifest-check",
];

const SIGNING_IN: readonly ActionName[] = [
  "alert.rules",
  "alert.destination",
  "account.create",
  "account.link",
  "account.verify",
  "account.email",
  "session.start",
  "session.end",
  "org.create",
  "key.create",
];

export const OTHER_WRITING_ROUTES: Readonly<Record<string, readonly ActionName[]>> = {
  "GET /auth/callback": SIGNING_IN,
  "POST /auth/link": SIGNING_IN,
  "GET /auth/recheck": ["session.end"],
  "POST /auth/sign-out": ["session.end"],
  "POST /auth/backchannel-logout": ["session.end"],
  "POST /alerts/link": ["alert.destination"],
  "POST /webhooks/stripe": [
    "alert.rules",
    "purchase.grant",
    "purchase.state",
    "purchase.claim",
    "topup.pause",
    "card.save",
  ],
};

export const WRITING_GATEWAY_ROUTES: Readonly<Record<string, readonly ActionName[]>> = {
  "POST /api/admission-limits": ["limit.change"],
};

/** The gateway's other POST routes: calls, which the journal records, and others without effect. */
export const CALLING_GATEWAY_ROUTES: readonly string[] = [
  "POST /v1/chat/completions",
  "POST /v1/messages",
  "POST /v1/messages/count_tokens",
  "POST /v1/images/generations",
  "POST /images/generations",
  "POST /v1/videos",
  "POST /v1/decisions",
  "POST /v1/route",
];
