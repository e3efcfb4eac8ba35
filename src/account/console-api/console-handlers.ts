import { alertHandlers } from "./alerts-routes.ts";
import { billingHandlers } from "./billing-routes.ts";
import { catalogHandlers } from "./catalog-routes.ts";
import { changeHandlers } from "./changes-routes.ts";
import { connectionHandlers } from "./connections-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { Handlers } from "./handler.ts";
import { keyHandlers } from "./keys-routes.ts";
import { limitHandlers } from "./limits-routes.ts";
import { listingFigureHandlers } from "./listing-figures-routes.ts";
import { memberHandlers } from "./members-routes.ts";
import { modelCostHandlers } from "./model-costs.ts";
import { operatorHandlers } from "./operator-routes.ts";
import { optimizeHandlers } from "./optimize-routes.ts";
import { priceChangeHandlers } from "./price-changes-routes.ts";
import { openReportGates } from "./report-gates.ts";
import { sessionHandlers } from "./session-routes.ts";
import { topUpHandlers } from "./top-up-routes.ts";
import { statementHandlers } from "./statement-routes.ts";
import { usageHandlers } from "./usage-routes.ts";
import { verificationHandlers } from "./verification-routes.ts";

/** One handler for each route of the contract, and no other: the type sees to both. */
export function consoleHandlers(deps: ConsoleDeps): Handlers {
  const gates = openReportGates();
  return {
    ...sessionHandlers(deps, gates),
    ...memberHandlers(deps),
    ...keyHandlers(deps, gates),
    ...billingHandlers(deps, gates),
    ...topUpHandlers(deps, gates),
    ...statementHandlers(deps, gates),
    ...alertHandlers(deps, gates),
    ...usageHandlers(deps, gates),
    ...limitHandlers(deps, gates),
    ...catalogHandlers(deps),
    ...listingFigureHandlers(deps, gates),
    ...modelCostHandlers(deps, gates),
    ...priceChangeHandlers(deps, gates),
    ...connectionHandlers(deps, gates),
    ...changeHandlers(deps, gates),
    ...optimizeHandlers(deps),
    ...verificationHandlers(deps, gates),
    ...operatorHandlers(deps, gates),
  };
}
