import type { AlertDestination as StoredDestination, DeliveryRecord } from "../alerts/index.ts";
import { formatUsd, newRecordId, type OrgId } from "../core/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, notFound } from "./console-refusal.ts";
import type { AlertDelivery, AlertDestination, Alerts } from "./contract.ts";
import type { alertRoutes } from "./contract/alerts.ts";
import type { Handlers } from "./handler.ts";
import { instant, instantOrNull, readCap } from "./read-values.ts";
import type { ReportGates } from "./report-gates.ts";

/** Which alerts the organization has chosen, and where they go. */
export function alertHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof alertRoutes> {
  const { alerts } = deps;
  return {
    "GET /api/console/alerts": ({ session }) => readAlerts(deps, session.orgId),

    "PATCH /api/console/alerts": async ({ session, body, by }) => {
      const { balance_below_usd: below, cap_percents: percents, purchases, restrictions } = body;
      const change = {
        ...(below === undefined ? {} : { balanceBelowMicroUsd: readCap(below) ?? null }),
        ...(percents === undefined ? {} : { capPercents: percents.toSorted((a, b) => a - b) }),
        ...(purchases === undefined ? {} : { hasPurchases: purchases }),
        ...(restrictions === undefined ? {} : { hasRestrictions: restrictions }),
      };
      await alerts.store.changeRules(session.orgId, change, by);
      return await readAlerts(deps, session.orgId);
    },

    "POST /api/console/alerts/destinations": async ({ session, body, by }) => {
      if (!alerts.canMail) return NO_MAIL;
      const { orgId, email } = session;
      // The session's address was verified: no other mailbox can be filled.
      const wanted = { destinationId: newRecordId("dst"), ...body, address: email };
      const added = await alerts.store.addDestination(orgId, wanted, by);
      if (added === "taken") return TAKEN;
      return added === "full" ? FULL : shownDestination(added);
    },

    "POST /api/console/alerts/destinations/:destination_id/remove": async (call) => {
      const { session, params, by } = call;
      const { destination_id: destinationId } = params;
      const isRemoved = await alerts.store.removeDestination(session.orgId, destinationId, by);
      return isRemoved ? await readAlerts(deps, session.orgId) : NO_SUCH_DESTINATION;
    },

    "POST /api/console/alerts/destinations/:destination_id/test": async ({ session, params }) => {
      const eventId = await alerts.store.sendTest(session.orgId, params.destination_id);
      return eventId === undefined ? NO_SUCH_DESTINATION : { event_id: eventId };
    },

    "GET /api/console/alerts/deliveries": ({ session }) =>
      gates.reads.run(session.orgId, async () => ({
        data: (await alerts.store.log(session.orgId)).map(shownDelivery),
      })),
  };
}

const NO_SUCH_DESTINATION = notFound("destination");
const NO_MAIL = conflict(
  "email is not available here: the operator has not configured a mail server",
);
const TAKEN = conflict("alerts already go to this address");
const FULL = conflict("an organization can have at most 10 destinations; remove one first");

async function readAlerts({ alerts }: ConsoleDeps, orgId: OrgId): Promise<Alerts> {
  const [rules, destinations] = await Promise.all([
    alerts.store.rules(orgId),
    alerts.store.destinations(orgId),
  ]);
  const { balanceBelowMicroUsd: below } = rules;
  return {
    rules: {
      balance_below_usd: below === null ? null : formatUsd(below),
      cap_percents: [...rules.capPercents],
      purchases: rules.hasPurchases,
      restrictions: rules.hasRestrictions,
    },
    can_email: alerts.canMail,
    destinations: destinations.map(shownDestination),
  };
}

function shownDestination(destination: StoredDestination): AlertDestination {
  return {
    destination_id: destination.destinationId,
    channel: destination.channel,
    address: destination.address,
    created_at: instant(destination.createdAtMs),
    failing_since: instantOrNull(destination.failingSinceMs),
    disabled_at: instantOrNull(destination.disabledAtMs),
  };
}

function shownDelivery(record: DeliveryRecord): AlertDelivery {
  return {
    event_id: record.eventId,
    kind: record.kind,
    at: instant(record.atMs),
    channel: record.channel,
    address: record.address,
    state: record.state,
    tries: record.tries,
    next_try_at: record.state === "waiting" ? instantOrNull(record.nextAtMs) : null,
    last_answer: record.lastAnswer,
  };
}
