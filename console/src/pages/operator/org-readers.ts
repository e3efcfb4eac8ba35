import type { RouteName } from "../../../../src/account/console-api/contract.ts";

/** The routes that show something of an organization: they are read again after an operator changed it. */
export const ORG_READERS: readonly RouteName[] = [
  "GET /api/operator/organizations",
  "GET /api/operator/organizations/:org_id",
  "GET /api/operator/restrictions",
  "GET /api/operator/purchases",
];
