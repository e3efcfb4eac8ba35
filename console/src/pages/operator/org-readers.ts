import type { RouteName } from "../../../../src/account/console-api/contract.ts";

/** Routes whose answers can change when an operator changes an organization. */
export const ORG_READERS: readonly RouteName[] = [
  "GET /api/operator/organizations",
  "GET /api/operator/organizations/:org_id",
  "GET /api/operator/restrictions",
  "GET /api/operator/purchases",
];
