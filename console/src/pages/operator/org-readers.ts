import type { RouteName } from "../../../../src/account/console-api/contract.ts";

/** Routes whose answers an operator's change of an organization can affect. */
export const ORG_READERS: readonly RouteName[] = [
  "GET /api/operator/organizations",
  "GET /api/operator/organizations/:org_id",
  "GET /api/operator/restrictions",
  "GET /api/operator/purchases",
];
