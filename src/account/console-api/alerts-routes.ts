import type { ConsoleDeps } from "./console-deps.ts";
import {
  AlertDelivery,
  AlertDestination,
  type alertRoutes,
  type Alerts,
  type DestinationWithSecret,
} from "./contract/alerts.ts";
import type { Call, Handlers } from "./handler.ts";
import { readCap, requireOrg } from "./read-values.ts";
import { ALERT_KINDS, CHOSEN_KINDS, parseAlertKind } from "../alerts/alert-kinds.ts";
import { alertLink, confirmationText } from "../alerts/alert-text.ts";
import { createBrowserToken } from "../identity/browser-token.ts";
import { createWebhookSecret, sealSecret } from "../alerts/webhook-secrets.ts";
import {
  type AlertDestination as StoredDestination,
  type DeliveryRecord,
  shortAddress,
} from "../alerts/alert-store.ts";
import {
  createRecordId,
  defined,
  instantOrNull,
  isEmail,
  mayRole,
  normaliseEmail,
  type OrgId,
  type Role,
  usdOrNull,
} from "../../kernel/index.ts";
import {
  conflict,
  ConsoleRefusal,
  invalidField,
  notFound,
  rateLimited,
} from "./console-refusal.ts";
import { present } from "./present.ts";

export function alertHandlers(deps: ConsoleDeps): Handlers<keyof typeof alertRoutes> {
  const { alerts } = deps;
  return {
    "POST /api/console/alerts/destinations": (call) =>
      call.body.channel === "email" ? addEmail(deps, call) : addWebhook(deps, call),

    "PATCH /api/console/alerts/destinations/:destination_id": async (call) => {
      const { session, params, body, by } = call;
      const kinds = readKinds(body.kinds);
      if (kinds instanceof ConsoleRefusal) return kinds;
      const change = defined({ isEnabled: body.is_enabled, kinds });
      const { destination_id: id } = params;
      const changed = await alerts.store.changeDestination(session.orgId, id, change, by);
      if (changed === undefined) return NO_SUCH_DESTINATION;
      if (changed === "reader") return READERS;
      return changed === "taken" ? TAKEN : presentDestination(changed, session.role);
    },

    "POST /api/console/alerts/destinations/:destination_id/rotate": (call) =>
      rotateSecret(deps, call),

    "POST /api/console/alerts/destinations/:destination_id/remove": async (call) => {
      const { session, params, by } = call;
      const { destination_id: destinationId } = params;
      const isRemoved = await alerts.store.removeDestination(session.orgId, destinationId, by);
      return isRemoved ? await readAlerts(deps, session) : NO_SUCH_DESTINATION;
    },

    "POST /api/console/alerts/destinations/:destination_id/test": async ({ session, params }) => {
      const eventId = await alerts.store.sendTest(session.orgId, params.destination_id);
      if (eventId === undefined) return NO_SUCH_DESTINATION;
      return eventId === false ? TOO_MANY_WAIT : { event_id: eventId };
    },

    "POST /api/console/alerts/destinations/:destination_id/send-again": async (call) => {
      const { session, params, body } = call;
      const { destination_id: destinationId } = params;
      const { event_id: eventId } = body;
      const queued = await alerts.store.sendAgain(session.orgId, destinationId, eventId);
      if (queued === undefined) return notFound("delivery to an enabled destination");
      return queued === "busy" ? NOT_FAILED : { event_id: eventId };
    },

    "GET /api/console/alerts": ({ session }) => readAlerts(deps, session),

    "PATCH /api/console/alerts": async ({ session, body, by }) => {
      const { balance_below_usd: below, cap_percents: percents, purchases, restrictions } = body;
      const { key_expiry: keyExpiry, provider_trouble: trouble } = body;
      const change = defined({
        balanceBelowMicroUsd: below === undefined ? undefined : (readCap(below) ?? null),
        capPercents: percents?.toSorted((a, b) => a - b),
        hasPurchases: purchases,
        hasRestrictions: restrictions,
        hasKeyExpiry: keyExpiry,
        hasTrouble: trouble,
      });
      await alerts.store.changeRules(session.orgId, change, by);
      return await readAlerts(deps, session);
    },

    "GET /api/console/alerts/deliveries": async ({ session: { orgId, role } }) => ({
      data: (await alerts.store.log(orgId)).map((each) => presentDelivery(each, role)),
    }),
  };
}

const NO_SUCH_DESTINATION = notFound("destination");
const NO_MAIL = conflict(
  "e-mail is not available here; ask the operator to configure a mail server",
);
const NO_VAULT = conflict(
  "webhooks are not available here; ask the operator to configure an encryption key",
);
const TAKEN = conflict(
  "this address gets alerts already, or has not confirmed them yet; change that destination, or " +
    "remove it and add it again",
);
const READERS = conflict(
  "only the reader of this address can begin its alerts; remove it and add it again to ask once more",
);
const BOUND = rateLimited(
  "enough addresses were asked to confirm alerts; try again tomorrow, or use a webhook",
  3_600,
);
const NOT_ASKED = new ConsoleRefusal(
  409,
  "conflict",
  "the mail server did not take the message to this address; check it, and add it again",
  { field: "address", isCounted: true },
);
const NO_ADDRESS = invalidField("address", "address must be one e-mail address");
const FULL = conflict("an organization has at most 10 destinations; remove one first");
const BUSY = new ConsoleRefusal(
  429,
  "rate_limit",
  "two webhook addresses of your organization are being looked up; try again in 3 seconds",
  { retryAfterSeconds: 3, isCounted: true },
);
const TOO_MANY_WAIT = conflict(
  "too many alerts are waiting for this destination; send a test after they are delivered",
);
const NOT_FAILED = conflict(
  "only a failed delivery can be sent again; reload the page to see how this one ended",
);

async function addEmail(
  deps: ConsoleDeps,
  { session, body, by }: Call<"POST /api/console/alerts/destinations">,
): Promise<DestinationWithSecret | ConsoleRefusal> {
  const { alerts } = deps;
  const { orgId, role, email } = session;
  if (alerts.mailer === undefined) return NO_MAIL;
  const kinds = readKinds(body.kinds);
  if (kinds instanceof ConsoleRefusal) return kinds;
  const { address = email } = body;
  if (!isEmail(address)) return NO_ADDRESS;
  // The session's own address is verified; any other has to be confirmed by its reader.
  const isOwn = normaliseEmail(address) === normaliseEmail(email);
  const destinationId = createRecordId("dst");
  const wanted = {
    destinationId,
    channel: "email",
    address: isOwn ? email : address,
    kinds: kinds ?? null,
  } as const;
  const { token, hash } = createBrowserToken();
  const { mailsPerHourMax: perHourMax } = alerts;
  const asked = { confirm: { hash, perHourMax } };
  const destination = isOwn ? wanted : { ...wanted, ...asked };
  const added = await alerts.store.addDestination(orgId, destination, by);
  if (!isOwn && typeof added !== "string") {
    const { name: orgName } = await requireOrg(deps, session);
    const url = alertLink(token, deps.consoleUrl());
    const sent = await alerts.mailer.send({
      to: address,
      messageId: `<${destinationId}@tokenmarket.confirm-alerts>`,
      ...confirmationText({ orgName, askedBy: email, address, url }),
    });
    if (sent.kind !== "sent") {
      await alerts.store.removeDestination(orgId, destinationId, by);
      return NOT_ASKED;
    }
  }
  return presentAdded(added, { secret: null, role });
}

async function addWebhook(
  { alerts, vault }: ConsoleDeps,
  { session: { orgId, role }, body, by }: Call<"POST /api/console/alerts/destinations">,
): Promise<DestinationWithSecret | ConsoleRefusal> {
  if (vault === undefined) return NO_VAULT;
  const kinds = readKinds(body.kinds);
  if (kinds instanceof ConsoleRefusal) return kinds;
  const { url = "" } = body;
  // Cheap checks come before the look-up of the host name.
  if (await alerts.store.isFull(orgId)) return FULL;
  const refused = await alerts.checkAddress(url, orgId);
  if (refused === "busy") return BUSY;
  if (refused !== undefined) {
    const message = `url cannot be used: ${refused.problem}`;
    const counted = { field: "url", isCounted: true };
    return new ConsoleRefusal(400, "invalid_request", message, counted);
  }
  const destinationId = createRecordId("dst");
  const secret = createWebhookSecret();
  const sealedSecret = sealSecret(vault, secret, { destinationId, orgId });
  const address = new URL(url).href;
  const wanted = { destinationId, channel: "webhook", address, kinds: kinds ?? null } as const;
  const added = await alerts.store.addDestination(orgId, { ...wanted, sealedSecret }, by);
  return presentAdded(added, { secret, role });
}

async function rotateSecret(
  { alerts, vault }: ConsoleDeps,
  call: Call<"POST /api/console/alerts/destinations/:destination_id/rotate">,
): Promise<DestinationWithSecret | ConsoleRefusal> {
  const { session, params, by } = call;
  const { orgId, role } = session;
  const { destination_id: destinationId } = params;
  if (vault === undefined) return NO_VAULT;
  const secret = createWebhookSecret();
  const sealed = sealSecret(vault, secret, { destinationId, orgId });
  const rotated = await alerts.store.rotateSecret(orgId, destinationId, sealed, by);
  return rotated === undefined
    ? notFound("webhook")
    : { ...presentDestination(rotated, role), secret };
}

function presentAdded(
  added: StoredDestination | "taken" | "full" | "bound",
  { secret, role }: { readonly secret: string | null; readonly role: Role },
): DestinationWithSecret | ConsoleRefusal {
  if (added === "taken") return TAKEN;
  if (added === "bound") return BOUND;
  return added === "full" ? FULL : { ...presentDestination(added, role), secret };
}

/** Refuses unknown kinds of events. Undefined means no change; null means all kinds. */
function readKinds(
  kinds: readonly string[] | null | undefined,
): readonly string[] | null | undefined | ConsoleRefusal {
  const unknown = kinds?.find((kind) => !(CHOSEN_KINDS as readonly string[]).includes(kind));
  return unknown === undefined ? kinds : UNKNOWN_KIND;
}

const UNKNOWN_KIND = invalidField(
  "kinds",
  `kinds has an unknown entry; choose from ${CHOSEN_KINDS.join(", ")}`,
);

/** `role` decides how much of a webhook's address the answer shows. */
export async function readAlerts(
  { alerts, vault }: ConsoleDeps,
  { orgId, role }: { readonly orgId: OrgId; readonly role: Role },
): Promise<Alerts> {
  const [rules, destinations] = await Promise.all([
    alerts.store.rules(orgId),
    alerts.store.destinations(orgId),
  ]);
  const { balanceBelowMicroUsd: below } = rules;
  return {
    rules: {
      balance_below_usd: usdOrNull(below),
      cap_percents: [...rules.capPercents],
      purchases: rules.hasPurchases,
      restrictions: rules.hasRestrictions,
      key_expiry: rules.hasKeyExpiry,
      provider_trouble: rules.hasTrouble,
      balance_follows: rules.isBalanceFollowing,
    },
    can_email: alerts.mailer !== undefined,
    can_webhook: vault !== undefined,
    kinds: CHOSEN_KINDS.map((kind) => ({ kind, label: ALERT_KINDS[kind].label })),
    destinations: destinations.map((each) => presentDestination(each, role)),
  };
}

function presentDelivery(record: DeliveryRecord, role: Role): AlertDelivery {
  const { address, kind, nextAtMs, state } = record;
  return present(AlertDelivery, record, {
    label: findLabel(kind),
    address: address === null ? null : presentAddress(address, role),
    next_try_at: state === "waiting" ? instantOrNull(nextAtMs) : null,
  });
}

function findLabel(text: string): string {
  const kind = parseAlertKind(text);
  return kind === undefined ? text : ALERT_KINDS[kind].label;
}

function presentDestination(destination: StoredDestination, role: Role): AlertDestination {
  return present(AlertDestination, destination, {
    address: presentAddress(destination.address, role),
  });
}

/** The address of an alert destination, whole only for roles that can change destinations. */
export function presentAddress(address: string, role: Role): string {
  return mayRole(role, "billing") ? address : shortAddress(address);
}
