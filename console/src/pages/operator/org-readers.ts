import type { RouteName } from "../../../../src/account/console-api/contract.ts";

/** What shows something of an organization: read again after an operator changed it. */
export const ORG_READERS: readonly RouteName[] = [
  "GET /api/operator/organizations",
  "GET /api/operator/organizations/:org_id",
  "GET /api/operator/restrictions",
  "GET /api/operator/purchases",
];
