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
import type { ReportGates } from "./concurrency-gate.ts";
import { sessionHandlers } from "./session-routes.ts";
import { topUpHandlers } from "./top-up-routes.ts";
import { statementHandlers } from "./statement-routes.ts";
import { usageHandlers } from "./usage-routes.ts";
import { verificationHandlers } from "./verification-routes.ts";

export function consoleHandlers(deps: ConsoleDeps, gates: ReportGates): Handlers {
  return {
    ...sessionHandlers(deps),
    ...memberHandlers(deps),
    ...keyHandlers(deps),
    ...billingHandlers(deps),
    ...topUpHandlers(deps),
    ...statementHandlers(deps),
    ...alertHandlers(deps),
    ...usageHandlers(deps),
    ...limitHandlers(deps),
    ...catalogHandlers(deps),
    ...listingFigureHandlers(deps, gates),
    ...modelCostHandlers(deps),
    ...priceChangeHandlers(deps, gates),
    ...connectionHandlers(deps),
    ...changeHandlers(deps),
    ...optimizeHandlers(deps),
    ...verificationHandlers(deps),
    ...operatorHandlers(deps),
  };
}
