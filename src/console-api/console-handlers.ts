import { billingHandlers } from "./billing-routes.ts";
import { catalogHandlers } from "./catalog-routes.ts";
import { connectionHandlers } from "./connections-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { Handlers } from "./handler.ts";
import { keyHandlers } from "./keys-routes.ts";
import { limitHandlers } from "./limits-routes.ts";
import { optimizeHandlers } from "./optimize-routes.ts";
import { openReportTurns } from "./report-turns.ts";
import { sessionHandlers } from "./session-routes.ts";
import { usageHandlers } from "./usage-routes.ts";

/** One handler for each route of the contract, and no other: the type sees to both. */
export function consoleHandlers(deps: ConsoleDeps): Handlers {
  const turns = openReportTurns();
  return {
    ...sessionHandlers(deps, turns),
    ...keyHandlers(deps, turns),
    ...billingHandlers(deps, turns),
    ...usageHandlers(deps, turns),
    ...limitHandlers(deps, turns),
    ...catalogHandlers(deps),
    ...connectionHandlers(deps, turns),
    ...optimizeHandlers(deps),
  };
}
