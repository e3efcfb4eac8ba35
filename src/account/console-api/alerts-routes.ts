import { destinationHandlers } from "./alert-destinations-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { alertRoutes } from "./contract/alerts.ts";
import type { Handlers } from "./handler.ts";
import { readCap } from "./read-values.ts";
import type { ReportGates } from "./report-gates.ts";
import { readAlerts, shownDelivery } from "./show-alerts.ts";

/** Which alerts the organization has chosen, and where they go. */
export function alertHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof alertRoutes> {
  const { alerts } = deps;
  return {
    ...destinationHandlers(deps),

    "GET /api/console/alerts": ({ session }) => readAlerts(deps, session),

    "PATCH /api/console/alerts": async ({ session, body, by }) => {
      const { balance_below_usd: below, cap_percents: percents, purchases, restrictions } = body;
      const { key_expiry: keyExpiry } = body;
      const change = {
        ...(below === undefined ? {} : { balanceBelowMicroUsd: readCap(below) ?? null }),
        ...(percents === undefined ? {} : { capPercents: percents.toSorted((a, b) => a - b) }),
        ...(purchases === undefined ? {} : { hasPurchases: purchases }),
        ...(restrictions === undefined ? {} : { hasRestrictions: restrictions }),
        ...(keyExpiry === undefined ? {} : { hasKeyExpiry: keyExpiry }),
      };
      await alerts.store.changeRules(session.orgId, change, by);
      return await readAlerts(deps, session);
    },

    "GET /api/console/alerts/deliveries": ({ session }) =>
      gates.reads.run(session.orgId, async () => ({
        data: (await alerts.store.log(session.orgId)).map((each) =>
          shownDelivery(each, session.role),
        ),
      })),
  };
}
