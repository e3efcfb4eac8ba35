import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import type { ComponentType } from "react";

import { Loading } from "../ui/answer.tsx";
import { OfflineFault, PageFailed } from "./error-boundary.tsx";
import { NotFound } from "./not-found.tsx";
import { readSearch, writeSearch } from "./search-text.ts";
import { OperatorGate, PrivateGate, SessionGate } from "./session-gate.tsx";
import { Shell } from "./shell.tsx";

/** Loads the code of a page, which is a chunk of its own. */
type Load<M> = () => Promise<M>;

const root = createRootRoute({ component: SessionGate, notFoundComponent: ShellNotFound });
const bare = createRoute({ getParentRoute: () => root, id: "bare", component: Outlet });
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const open = createRoute({ getParentRoute: () => shell, id: "open", component: Outlet });
const modelPages = createRoute({ getParentRoute: () => open, path: "/models", component: Outlet });
const closed = createRoute({ getParentRoute: () => shell, id: "closed", component: PrivateGate });
const operator = createRoute({
  getParentRoute: () => closed,
  id: "operator",
  component: OperatorGate,
});

const verify = () => import("../pages/verify-page.tsx");
const docs = () => import("../pages/docs-page.tsx");
const guide = () => import("../pages/docs/guide-page.tsx");
const reference = () => import("../pages/docs/reference-page.tsx");
const models = () => import("../pages/models/models-page.tsx");
const model = () => import("../pages/models/model-page.tsx");
const compare = () => import("../pages/models/compare-page.tsx");
const providers = () => import("../pages/providers/providers-page.tsx");
const provider = () => import("../pages/providers/provider-page.tsx");
const overview = () => import("../pages/overview-page.tsx");
const welcome = () => import("../pages/welcome-page.tsx");
const settings = () => import("../pages/settings-page.tsx");
const ownOrg = () => import("../pages/settings/organization-page.tsx");
const members = () => import("../pages/settings/members-page.tsx");
const join = () => import("../pages/join-page.tsx");
const changes = () => import("../pages/settings/changes-page.tsx");
const alerts = () => import("../pages/settings/alerts-page.tsx");
const keys = () => import("../pages/keys/keys-page.tsx");
const key = () => import("../pages/keys/key-page.tsx");
const billing = () => import("../pages/billing/billing-page.tsx");
const purchase = () => import("../pages/billing/purchase-return-page.tsx");
const receipt = () => import("../pages/billing/receipt-page.tsx");
const company = () => import("../pages/billing/company-page.tsx");
const statements = () => import("../pages/billing/statements-page.tsx");
const statement = () => import("../pages/billing/statement-page.tsx");
const limits = () => import("../pages/limits/limits-page.tsx");
const connections = () => import("../pages/connections/connections-page.tsx");
const usage = () => import("../pages/usage/usage-page.tsx");
const request = () => import("../pages/usage/request-page.tsx");
const playground = () => import("../pages/playground/playground-page.tsx");
const forProviders = () => import("../pages/providers/for-providers-page.tsx");
const desk = () => import("../pages/operator/desk-page.tsx");
const operatorChanges = () => import("../pages/operator/changes-page.tsx");
const customerRequest = () => import("../pages/operator/customer-request-page.tsx");
const health = () => import("../pages/operator/health-page.tsx");
const organizations = () => import("../pages/operator/organizations-page.tsx");
const organization = () => import("../pages/operator/organization-page.tsx");
const review = () => import("../pages/operator/review-page.tsx");
const listings = () => import("../pages/operator/listings-page.tsx");
const settlement = () => import("../pages/operator/settlement-page.tsx");
const optimize = () => import("../pages/optimize/optimize-page.tsx");
const search = () => import("../pages/optimize/optimize-search-page.tsx");

/** The pages of the docs keep the text of their search from one guide or route to the next. */
const KEPT_PAGES: ReadonlySet<Load<unknown>> = new Set<Load<unknown>>([guide, reference]);

/** The pages that most people see first. They use no component that needs `more-styles.ts`. */
const FIRST_PAGES: ReadonlySet<Load<unknown>> = new Set<Load<unknown>>([verify, overview]);

const routes = root.addChildren([
  bare.addChildren([
    page(bare, "/verify", verify, "VerifyPage"),
    page(bare, "/join", join, "JoinPage"),
  ]),
  shell.addChildren([
    open.addChildren([
      page(open, "/docs", docs, "DocsPage"),
      page(open, "/docs/reference", reference, "ReferencePage"),
      page(open, "/docs/reference/$operation", reference, "OperationPage"),
      page(open, "/docs/$page", guide, "GuidePage"),
      // Model IDs contain slashes, so `$` matches the rest of the path.
      modelPages.addChildren([
        page(modelPages, "/", models, "ModelsPage"),
        page(modelPages, "compare", compare, "ComparePage"),
        page(modelPages, "$", model, "ModelPage"),
      ]),
      page(open, "/for-providers", forProviders, "ForProvidersPage"),
      page(open, "/providers", providers, "ProvidersPage"),
      page(open, "/providers/$providerId", provider, "ProviderPage"),
    ]),
    closed.addChildren([
      page(closed, "/", overview, "OverviewPage"),
      page(closed, "/welcome", welcome, "WelcomePage"),
      page(closed, "/settings", settings, "SettingsPage"),
      page(closed, "/settings/organization", ownOrg, "OrganizationPage"),
      page(closed, "/settings/members", members, "MembersPage"),
      page(closed, "/settings/changes", changes, "ChangesPage"),
      page(closed, "/settings/alerts", alerts, "AlertsPage"),
      page(closed, "/keys", keys, "KeysPage"),
      page(closed, "/keys/$keyId", key, "KeyPage"),
      page(closed, "/billing", billing, "BillingPage"),
      page(closed, "/billing/return/$purchaseId", purchase, "PurchaseReturnPage"),
      page(closed, "/billing/purchases/$purchaseId/receipt", receipt, "ReceiptPage"),
      page(closed, "/billing/company", company, "CompanyPage"),
      page(closed, "/billing/statements", statements, "StatementsPage"),
      page(closed, "/billing/statements/$month", statement, "StatementPage"),
      page(closed, "/limits", limits, "LimitsPage"),
      page(closed, "/connections", connections, "ConnectionsPage"),
      page(closed, "/usage", usage, "UsagePage"),
      page(closed, "/requests/$requestId", request, "RequestPage"),
      page(closed, "/playground", playground, "PlaygroundPage"),
      page(closed, "/optimize", optimize, "OptimizePage"),
      page(closed, "/optimize/$searchId", search, "OptimizeSearchPage"),
      operator.addChildren([
        page(operator, "/operator", desk, "OperatorDeskPage"),
        page(operator, "/operator/health", health, "OperatorHealthPage"),
        page(operator, "/operator/changes", operatorChanges, "OperatorChangesPage"),
        page(
          operator,
          "/operator/organizations/$orgId/requests/$requestId",
          customerRequest,
          "OperatorRequestPage",
        ),
        page(operator, "/operator/organizations", organizations, "OperatorOrganizationsPage"),
        page(operator, "/operator/organizations/$orgId", organization, "OperatorOrganizationPage"),
        page(operator, "/operator/review", review, "OperatorReviewPage"),
        page(operator, "/operator/listings", listings, "OperatorListingsPage"),
        page(operator, "/operator/settlement", settlement, "OperatorSettlementPage"),
      ]),
    ]),
  ]),
]);

export const router = createRouter({
  routeTree: routes,
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageFailed,
  defaultNotFoundComponent: NotFound,
});

function page<M>(parent: unknown, path: string, load: Load<M>, name: keyof M & string) {
  return createRoute({
    getParentRoute: () => parent as typeof root,
    path,
    component: lazyRouteComponent(() => withStyles(load), name),
    // The page of another key, model or organization starts anew: an open dialog is not about it.
    remountDeps: ({ params }) => (KEPT_PAGES.has(load) ? undefined : params),
  });
}

function ShellNotFound() {
  return (
    <Shell>
      <NotFound />
    </Shell>
  );
}

/** Throws `OfflineFault` if the browser is offline: a reload would show the browser's own error. */
async function withStyles(load: Load<unknown>): Promise<Record<string, ComponentType>> {
  const isFirst = FIRST_PAGES.has(load);
  try {
    const [found] = await Promise.all([load(), isFirst ? undefined : import("./more-styles.ts")]);
    return found as Record<string, ComponentType>;
  } catch (fault) {
    if (!globalThis.navigator.onLine) throw new OfflineFault({ cause: fault });
    throw fault;
  }
}
