import * as fc from "fast-check";
import { expect, test } from "vitest";

import { buildDeployment } from "../../../test/fixtures/modality/request-kit.ts";
import type { ListedModel, PriceSheet } from "../../catalog/catalog.ts";
import type { ModelId, ProviderId } from "../../kernel/core/ids.ts";
import type { ProviderControls } from "../../formats/wire/fields/common-fields.ts";
import { explainRoute, planRoute, type PlanInput } from "./plan-route.ts";

const PRICES: PriceSheet = {
  pinId: "pin",
  prompt: 1n,
  cachedPrompt: 1n,
  cacheWrite: 1n,
  completion: 1n,
  internalReasoning: 1n,
};
const IDS = ["p1", "p2", "p3", "p4"] as const;

interface Case {
  readonly unpriced: readonly string[];
  readonly cooling: readonly string[];
  readonly unservable: readonly string[];
  readonly controls: Partial<ProviderControls>;
}

function inputOf({ unpriced, cooling, unservable, controls }: Case): PlanInput {
  const deployments = IDS.map((id) =>
    buildDeployment("wire_a", {
      id: `${id}/m`,
      providerId: id as ProviderId,
      prices: unpriced.includes(id) ? null : PRICES,
    }),
  );
  const model: ListedModel = {
    id: "m" as ModelId,
    displayName: "m",
    modality: "text",
    inputModalities: ["text"],
    supportedParameters: new Map(),
    priceCard: [],
    deployments,
  };
  return {
    modelId: "m",
    model,
    modality: "text",
    controls: {
      allowFallbacks: true,
      requireParameters: false,
      connections: "prefer",
      ...controls,
    },
    servabilityProblem: ({ providerId }) =>
      unservable.includes(providerId) ? { field: "top_k", message: "top_k is odd" } : undefined,
    isHealthy: ({ providerId }) => !cooling.includes(providerId),
  };
}

const NOTHING: Case = { unpriced: [], cooling: [], unservable: [], controls: {} };

test("every excluded deployment has a reason", () => {
  const explained = explainRoute(
    inputOf({ ...NOTHING, unpriced: ["p1"], cooling: ["p2"], unservable: ["p3"] }),
  );
  expect(explained.candidates.map((each) => each.providerId)).toEqual(["p4"]);
  expect(explained.excluded.map((each) => [each.deployment.providerId, each.reason])).toEqual([
    ["p1", "it is listed without a price"],
    ["p2", "it is cooling down after failures"],
    ["p3", "top_k is odd"],
  ]);
});

test.each([
  [{ only: ["p4"] }, "provider.only does not name it"],
  [{ ignore: ["p1", "p2", "p3"] }, "provider.ignore names it"],
  [{ order: ["p4"], allowFallbacks: false }, /allow_fallbacks is false/],
])(
  "the controls %j exclude the other deployments, each with the control as its reason",
  (controls, reason) => {
    const explained = explainRoute(inputOf({ ...NOTHING, controls }));
    expect(explained.candidates.map((each) => each.providerId)).toEqual(["p4"]);
    expect(explained.excluded).toHaveLength(3);
    for (const each of explained.excluded) expect(each.reason).toMatch(reason);
  },
);

test("an explanation has the plan's candidates, order and refusal, and lists each deployment once", () => {
  const some = fc.subarray([...IDS]);
  const controls = fc.record(
    { only: some, ignore: some, order: some, allowFallbacks: fc.boolean() },
    { requiredKeys: [] },
  );
  const cases = fc.record({ unpriced: some, cooling: some, unservable: some, controls });
  fc.assert(
    fc.property(cases, (each) => {
      const input = inputOf(each);
      const plan = planRoute(input);
      const { candidates, excluded, refusal } = explainRoute(input);
      const planned = plan.kind === "plan" ? [plan.first, ...plan.others()] : [];
      expect(candidates).toEqual(planned);
      expect(refusal).toEqual(plan.kind === "plan" ? undefined : plan.refusal);
      expect(refusal === undefined).toBe(candidates.length > 0);
      const seen = [...candidates, ...excluded.map(({ deployment }) => deployment)];
      expect(seen.map(({ providerId }) => providerId).toSorted()).toEqual([...IDS]);
    }),
  );
});
