/**
 * The contract between the console's pages, which import only its types, and its API. Requests are
 * checked against these schemas (not the body of `POST /api/admission-limits`), answers are typed
 * by them, and `/api/openapi.json` is made from the routes that are not for operators. The name of
 * a route is its method and path. A route that needs a session refuses with 401 `signed_out` or 403
 * `email_not_verified`, a route for operators with 404. The body of a refusal is a `ConsoleError`.
 *
 * The playground is not in this contract: `/playground/v1/…` is the gateway's own `/v1/…` with a
 * session instead of a key, billed to the organization's managed Playground key.
 */
import type { Static, TSchema } from "typebox";

import { alertRoutes } from "./contract/alerts.ts";
import { billingRoutes, statementRoutes } from "./contract/statements.ts";
import { catalogRoutes, priceRoutes } from "./contract/catalog.ts";
import { changeRoutes } from "./contract/changes.ts";
import { connectionRoutes } from "./contract/connections.ts";
import { keyRoutes, limitRoutes } from "./contract/keys.ts";
import { listingFigureRoutes, verificationRoutes } from "./contract/listing-figures.ts";
import { memberRoutes } from "./contract/members.ts";
import { settlementRoutes } from "./contract/operator-settlement.ts";
import { operatorRoutes } from "./contract/operator.ts";
import { optimizeRoutes } from "./contract/optimize.ts";
import { sessionRoutes } from "./contract/session.ts";
import { type RouteContract, withParams } from "./contract/shared.ts";
import { usageRoutes } from "./contract/usage.ts";

export type * from "./contract/alerts.ts";
export type * from "./contract/statements.ts";
export type * from "./contract/catalog.ts";
export type * from "./contract/changes.ts";
export type * from "./contract/connections.ts";
export type * from "./contract/keys.ts";
export type * from "./contract/listing-figures.ts";
export type * from "./contract/members.ts";
export type * from "./contract/operator-settlement.ts";
export type * from "./contract/operator.ts";
export type * from "./contract/optimize.ts";
export type * from "./contract/session.ts";
export type * from "./contract/shared.ts";
export type * from "./contract/usage.ts";

export const ROUTES = withParams({
  ...sessionRoutes,
  ...memberRoutes,
  ...keyRoutes,
  ...billingRoutes,
  ...statementRoutes,
  ...alertRoutes,
  ...usageRoutes,
  ...limitRoutes,
  ...catalogRoutes,
  ...listingFigureRoutes,
  ...priceRoutes,
  ...connectionRoutes,
  ...changeRoutes,
  ...optimizeRoutes,
  ...verificationRoutes,
  ...operatorRoutes,
  ...settlementRoutes,
} as const satisfies Readonly<Record<string, RouteContract>>);

export type Routes = typeof ROUTES;
export type RouteName = keyof Routes;

export type PartOf<C, P extends "params" | "query" | "body" | "answer"> =
  C extends Readonly<Record<P, infer S>> ? (S extends TSchema ? Static<S> : never) : undefined;

export type ParamsOf<N extends RouteName> = PartOf<Routes[N], "params">;
export type QueryOf<N extends RouteName> = PartOf<Routes[N], "query">;
export type BodyOf<N extends RouteName> = PartOf<Routes[N], "body">;
/** Undefined for a route that answers with a file. */
export type AnswerOf<N extends RouteName> = PartOf<Routes[N], "answer">;
