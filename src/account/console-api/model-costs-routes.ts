import { instant } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { modelCostRoutes } from "./contract/model-costs.ts";
import type { Handlers } from "./handler.ts";
import { boundsOf, modelCosts } from "./model-costs.ts";
import type { ReportGates } from "./report-gates.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
const MODELS_MAX = 4;

/** What the organization's own last days would have cost with other models. */
export function modelCostHandlers(
  { catalog, reports, clock }: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof modelCostRoutes> {
  return {
    "GET /api/console/model-costs": async ({ session, query }) => {
      const ids = readIds(query.models);
      if (ids instanceof ConsoleRefusal) return ids;
      const { orgId } = session;
      const { current } = catalog;
      // Whole days in UTC, so that most of it is read from sums: today is the last one.
      const toMs = (Math.floor(clock.nowMs() / DAY_MS) + 1) * DAY_MS;
      const range = { orgId, fromMs: toMs - DAYS * DAY_MS, toMs };
      const { of } = query;
      const models = ids.flatMap((id) => current.find(id) ?? []);
      const compared = { catalog: current, ids, models };
      const bounds = boundsOf(models);
      return await gates.reads.run(orgId, async () => {
        const filter = of === undefined ? range : { ...range, modelIds: [of] };
        const { groups } = await reports.report(filter, "model");
        const sizeFilter = of === undefined ? range : { ...range, modelId: of };
        const sized = await reports.tokensBySize(sizeFilter, bounds);
        return {
          from: instant(range.fromMs),
          to: instant(range.toMs),
          ...modelCosts(compared, { groups, sized, bounds }),
        };
      });
    },
  };
}

function readIds(text: string): readonly string[] | ConsoleRefusal {
  const ids = [...new Set(text.split(","))];
  const isRight = ids.length <= MODELS_MAX && ids.every((id) => MODEL_ID.test(id));
  if (isRight) return ids;
  return invalidField(
    "models",
    `models must be 1 to ${MODELS_MAX} ids of models with commas between them`,
  );
}

const MODEL_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$/;
