import type { Catalog, Deployment } from "../../catalog/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import type { verificationRoutes } from "./contract/verification.ts";
import type { Handlers } from "./handler.ts";
import type { ReportGates } from "./report-gates.ts";
import { shownRun, shownTrust } from "./show-verification.ts";

/** What conformance runs and live answers say about what is for sale; of nothing else. */
export function verificationHandlers(
  { catalog, verification, verdicts }: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof verificationRoutes> {
  return {
    "GET /api/console/verification": async ({ query }) => {
      const hasChecks = query.provider !== undefined;
      const listings = publicListings(catalog.current, query);
      return {
        listings: listings.map((each) => shownTrust(each, verification.of(each), { hasChecks })),
      };
    },

    "GET /api/console/verification/runs": async ({ session, query }) => {
      const [listing] = publicListings(catalog.current, query);
      if (listing === undefined) return NOT_LISTED;
      return await gates.reads.run(session.orgId, async () => {
        const runs = await verdicts.history(listing);
        return { runs: runs.map((run) => shownRun(listing, run)) };
      });
    },
  };
}

/** One answer for what is private, what is staged and what never existed. */
const NOT_LISTED = new ConsoleRefusal({
  status: 404,
  code: "not_found",
  message: "this provider does not list this model; GET /api/catalog.json has the listings",
});

/** The listings that anybody may see, by provider. */
function publicListings(
  { providers }: Catalog,
  { provider, model }: { readonly provider?: string; readonly model?: string },
): readonly Deployment[] {
  return providers
    .filter(({ id }) => provider === undefined || id === provider)
    .flatMap(({ deployments }) => deployments)
    .filter(({ modelId }) => model === undefined || modelId === model);
}
