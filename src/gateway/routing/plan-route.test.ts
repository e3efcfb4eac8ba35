import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { buildDeployment } from "../../../test/fixtures/modality/request-kit.ts";
import type { Deployment, ListedModel, PriceSheet } from "../../catalog/catalog.ts";
import type { ProviderControls } from "../../formats/wire/fields/common-fields.ts";
import type { Unservable } from "../../formats/wire/modality.ts";
import type { ModelId, OrgId, ProviderId } from "../../kernel/core/ids.ts";
import { Affinity, explainRoute, type PlanInput, planRoute } from "./plan-route.ts";

const PRICES: PriceSheet = {
  pinId: "pin",
  prompt: 1n,
  cachedPrompt: 1n,
  cacheWrite: 1n,
  completion: 1n,
  internalReasoning: 1n,
};

function deployment(providerId: string, change: Partial<Deployment> = {}): Deployment {
  return buildDeployment("wire_a", {
    id: `${providerId}/m`,
    providerId: providerId as ProviderId,
    modelId: "m" as ModelId,
    prices: PRICES,
    ...change,
  });
}

function model(deployments: readonly Deployment[], change: Partial<ListedModel> = {}): ListedModel {
  return {
    id: "m" as ModelId,
    displayName: "m",
    modality: "text",
    inputModalities: ["text"],
    supportedParameters: new Map(),
    priceCard: [],
    deployments,
    ...change,
  };
}

const NO_CONTROLS: ProviderControls = {
  allowFallbacks: true,
  requireParameters: false,
  connections: "prefer",
};

function inputOf(change: Partial<PlanInput> = {}): PlanInput {
  return {
    modelId: "m",
    model: model([deployment("one"), deployment("two"), deployment("three")]),
    modality: "text",
    controls: NO_CONTROLS,
    servabilityProblem: () => undefined,
    isHealthy: () => true,
    ...change,
  };
}

function plan(change: Partial<PlanInput> = {}): string[] | string {
  const outcome = planRoute(inputOf(change));
  return outcome.kind === "plan"
    ? [outcome.first, ...outcome.others()].map((each) => each.providerId)
    : `${outcome.refusal.status} ${outcome.refusal.class}: ${outcome.refusal.message}`;
}

function controls(change: Partial<ProviderControls>): { controls: ProviderControls } {
  return { controls: { ...NO_CONTROLS, ...change } };
}

test("among equal candidates the one that served last is first, but one with old prices stays last", () => {
  const checked = { on: "2026-01-01", by: "page", age: "old", ageUntilMs: Infinity } as const;
  const of = [deployment("one"), deployment("two"), deployment("old", { checked })];
  expect(plan({ model: model(of), servedLast: "two/m" })).toEqual(["two", "one", "old"]);
  expect(plan({ model: model(of), servedLast: "old/m" })).toEqual(["one", "two", "old"]);
});

test("an unknown model is a 404 that echoes the id, and nothing is substituted", () => {
  const answer = plan({ model: undefined, modelId: "acme/none:free" });
  expect(answer).toContain('404 model_unavailable: model "acme/none:free" is not listed');
});

test("a model of another modality is refused with the route that serves it", () => {
  const image = model([deployment("one", { modality: "image" })], { modality: "image" });
  expect(plan({ model: image })).toMatch(/^400 invalid_request: .*POST \/v1\/images\/generations/);
});

describe("provider controls", () => {
  test.each([
    ["only", { only: ["three", "one"] }, ["one", "three"]],
    ["ignore", { ignore: ["one"] }, ["two", "three"]],
    ["order", { order: ["three", "nobody", "two"] }, ["three", "two", "one"]],
    ["allow_fallbacks: false", { allowFallbacks: false, order: ["two"] }, ["two"]],
  ])("%s decides which providers are tried, and in which order", (_what, change, expected) => {
    expect(plan(controls(change))).toEqual(expected);
  });

  test("controls that leave no provider are a 400 that names them", () => {
    expect(plan(controls({ only: ["nobody"] }))).toMatch(/^400 invalid_request: provider.only/);
    expect(plan(controls({ only: ["one"], ignore: ["one"] }))).toMatch(
      /^400 invalid_request: provider.only and provider.ignore leave no provider/,
    );
  });
});

describe("an organization's routing policy", () => {
  const policy = { only: ["one", "two"], ignore: ["one"] };

  test("supplies the controls that a request does not send", () => {
    expect(plan({ policy })).toEqual(["two"]);
    expect(plan({ policy, ...controls({ ignore: [] }) })).toEqual(["one", "two"]);
    expect(plan({ policy, ...controls({ only: ["three"] }) })).toEqual(["three"]);
  });

  test("excludes providers that retain prompts, whatever a request says", () => {
    const retaining = deployment("one", { promptLogging: "retained" });
    const both = model([retaining, deployment("two")]);
    expect(plan({ model: both, policy: { promptLogging: "none" } })).toEqual(["two"]);
    expect(
      plan({ model: both, policy: { promptLogging: "none" }, ...controls({ only: ["one"] }) }),
    ).toMatch(/^400 invalid_request: provider.only and the organization's routing policy leave/);
  });

  test("that leaves no provider is a 400 that names the policy", () => {
    expect(plan({ policy: { only: ["nobody"] } })).toMatch(
      /^400 invalid_request: the organization's routing policy leaves no provider/,
    );
  });
});

/** Distrusts the providers `suspects`, and routes only to `verified` if that is set. */
function standingOf(of: { suspects?: readonly string[]; verified?: readonly string[] }) {
  const { suspects = [], verified } = of;
  return {
    standing: {
      mayRoute: ({ providerId }: Deployment) => verified?.includes(providerId) !== false,
      isDistrusted: ({ providerId }: Deployment) => suspects.includes(providerId.replace("*", "")),
    },
  };
}

describe("a listing that live answers made suspect", () => {
  test("is tried last, and the others keep their order", () => {
    expect(plan(standingOf({ suspects: ["one"] }))).toEqual(["two", "three", "one"]);
    expect(plan(standingOf({ suspects: ["one", "two"] }))).toEqual(["three", "one", "two"]);
  });

  test("serves when all are suspect, or when it is the only healthy one", () => {
    const suspects = ["one", "two", "three"];
    expect(plan(standingOf({ suspects }))).toEqual(suspects);
    const isHealthy = ({ providerId }: Deployment): boolean => providerId === "one";
    expect(plan({ ...standingOf({ suspects: ["one"] }), isHealthy })).toEqual(["one"]);
  });

  test("comes first for a caller that names it first", () => {
    const suspect = standingOf({ suspects: ["one"] });
    expect(plan({ ...suspect, ...controls({ order: ["one"] }) })).toEqual(["one", "two", "three"]);
    expect(plan({ ...suspect, ...controls({ only: ["one"] }) })).toEqual(["one"]);
  });
});

describe("if verified listings are required", () => {
  test("only verified listings are candidates", () => {
    expect(plan(standingOf({ verified: ["three", "two"] }))).toEqual(["two", "three"]);
  });

  test("a model without a verified listing is a 404 that says so", () => {
    expect(plan(standingOf({ verified: [] }))).toMatch(
      /^404 model_unavailable: no provider of m that this request may use is verified at the moment;/,
    );
  });
});

describe("a customer's own provider keys", () => {
  const ownKey = {
    connectionId: "conn_1",
    orgId: "org_1" as OrgId,
    providerId: "two" as ProviderId,
    sealedKey: Buffer.from("sealed"),
  };
  const ownKeyOf = (each: Deployment): Deployment | undefined =>
    each.providerId === "two"
      ? { ...each, id: `${each.id}@conn_1`, providerId: "two*" as ProviderId, ownKey }
      : undefined;

  test("are used first, and the marketplace's keys behind them", () => {
    expect(plan({ ownKeyOf })).toEqual(["two*", "one", "two", "three"]);
  });

  test("are used first even if the listing is suspect", () => {
    const suspects = standingOf({ suspects: ["two"] });
    expect(plan({ ownKeyOf, ...suspects })).toEqual(["two*", "one", "three", "two"]);
  });

  test('are the only candidates with connections "only", and are not candidates with "never"', () => {
    expect(plan({ ownKeyOf, ...controls({ connections: "only" }) })).toEqual(["two*"]);
    expect(plan({ ownKeyOf, ...controls({ connections: "never" }) })).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  test('that do not serve a model make its requests with connections "only" fail like an unknown model', () => {
    const unserved = plan(controls({ connections: "only" }));
    expect(unserved).toBe(plan({ model: undefined, ...controls({ connections: "only" }) }));
    expect(unserved).toMatch(/^404 model_unavailable/);
  });

  test.each([
    [{ connections: "only" as const }, "only"],
    [{ connections: "prefer" as const, allowFallbacks: false }, "only"],
    [{ connections: "prefer" as const }, "first"],
    [{ connections: "never" as const, allowFallbacks: false }, "none"],
  ])("with the controls %j are planned as: %s", (change, expected) => {
    const outcome = planRoute(inputOf({ ownKeyOf, ...controls(change) }));
    expect(outcome).toMatchObject({ kind: "plan", ownKeys: expected });
  });

  test("can serve a listing that has no marketplace price", () => {
    const unpriced = model([deployment("one", { prices: null })]);
    const free = (each: Deployment): Deployment => ({ ...each, ownKey, prices: PRICES });
    expect(plan({ model: unpriced, ownKeyOf: free })).toEqual(["one"]);
  });
});

test("a deployment that cannot serve the request as sent is passed over, also on failover", () => {
  const without = (id: string): string[] | string =>
    plan({
      servabilityProblem: ({ providerId }) =>
        providerId === id ? { field: "thinking", message: "no thinking" } : undefined,
    });
  expect(without("one")).toEqual(["two", "three"]);
  expect(without("two")).toEqual(["one", "three"]);
});

test("when no provider can serve a request as sent, the first candidate's reason is the 400", () => {
  const servabilityProblem: PlanInput["servabilityProblem"] = (each) => ({
    field: "thinking",
    message: `thinking cannot reach ${each.providerId}`,
  });
  expect(plan({ servabilityProblem })).toBe("400 invalid_request: thinking cannot reach one");
});

describe("a listing that writes less than the bound", () => {
  const short = {
    field: "max_tokens",
    message: "max_tokens is above 4096",
    isPreference: true,
  } as const;
  const hard = { field: "thinking", message: "no thinking" };
  const reasoned = (
    reasons: Readonly<Record<string, Unservable>>,
    change: Partial<PlanInput> = {},
  ): PlanInput =>
    inputOf({ servabilityProblem: ({ providerId }) => reasons[providerId], ...change });
  const without = (...args: Parameters<typeof reasoned>) => plan(reasoned(...args));

  test("is tried after those that write it, also on failover, and alone where no other can serve", () => {
    expect(without({ one: short, two: short })).toEqual(["three", "one", "two"]);
    expect(without({ one: hard, two: short })).toEqual(["three", "two"]);
    expect(without({ one: short, two: short, three: short })).toEqual(["one", "two", "three"]);
    expect(without({ one: hard, two: short, three: hard })).toEqual(["two"]);
  });

  test("is used while the one that writes more is cooling down, or has no price", () => {
    const isHealthy: PlanInput["isHealthy"] = ({ providerId }) => providerId !== "three";
    expect(without({ one: short, two: hard }, { isHealthy })).toEqual(["one"]);
    const of = model([deployment("one"), deployment("three", { prices: null })]);
    expect(without({ one: short }, { model: of })).toEqual(["one"]);
    const isNone: PlanInput["isHealthy"] = () => false;
    expect(without({ one: short, two: hard, three: hard }, { isHealthy: isNone })).toMatch(/^503/);
  });

  test.each([
    [true, ["one", "three"], ["three", "one"]],
    [false, ["one", "three"], ["three", "one"]],
    [false, ["three"], ["three"]],
    [false, ["two"], []],
  ])("with fallbacks %j and %j cooling down would give way to %j", (isAllowed, ill, expected) => {
    const isHealthy: PlanInput["isHealthy"] = ({ providerId }) => !ill.includes(providerId);
    const change = { isHealthy, ...controls({ allowFallbacks: isAllowed }) };
    const outcome = planRoute(reasoned({ one: short, two: short }, change));
    const cooling = outcome.kind === "plan" ? outcome.cooling() : [];
    expect(cooling.map(({ providerId }) => providerId)).toEqual(expected);
  });

  test("costs one check for each listing that is looked at, and none for later ones", () => {
    const checked: string[] = [];
    const servabilityProblem: PlanInput["servabilityProblem"] = ({ providerId }) => {
      checked.push(providerId);
      return providerId === "one" ? short : undefined;
    };
    const outcome = planRoute(inputOf({ servabilityProblem }));
    expect(checked).toEqual(["one", "two"]);
    expect(outcome.kind === "plan" && [...outcome.others()]).toHaveLength(2);
    expect(checked).toEqual(["one", "two", "three"]);
  });
});

test("a listing without a price is never served: another one is, or the request is refused", () => {
  const unpriced = deployment("one", { prices: null });
  expect(plan({ model: model([unpriced, deployment("two")]) })).toEqual(["two"]);
  expect(plan({ model: model([unpriced]) })).toMatch(/^400 model_not_priced/);
});

test("when every candidate is cooling the request gets a 503", () => {
  expect(plan({ isHealthy: () => false })).toMatch(/^503 gateway_error/);
});

describe("an explanation of a route", () => {
  const IDS = ["one", "two", "three", "four"];

  interface Case {
    readonly unpriced?: readonly string[];
    readonly cooling?: readonly string[];
    readonly unservable?: readonly string[];
    readonly changes?: Partial<ProviderControls>;
  }

  function caseOf({ unpriced = [], cooling = [], unservable = [], changes = {} }: Case): PlanInput {
    const priceOf = (id: string) => ({ prices: unpriced.includes(id) ? null : PRICES });
    return inputOf({
      model: model(IDS.map((id) => deployment(id, priceOf(id)))),
      ...controls(changes),
      servabilityProblem: ({ providerId }) =>
        unservable.includes(providerId) ? { field: "top_k", message: "top_k is odd" } : undefined,
      isHealthy: ({ providerId }) => !cooling.includes(providerId),
    });
  }

  test("has a reason for every excluded deployment", () => {
    const explained = explainRoute(
      caseOf({ unpriced: ["one"], cooling: ["two"], unservable: ["three"] }),
    );
    expect(explained.candidates.map((each) => each.providerId)).toEqual(["four"]);
    expect(explained.excluded.map((each) => [each.deployment.providerId, each.reason])).toEqual([
      ["one", "it is listed without a price"],
      ["two", "it is cooling down after failures"],
      ["three", "top_k is odd"],
    ]);
  });

  test.each([
    [{ only: ["four"] }, "provider.only does not name it"],
    [{ ignore: ["one", "two", "three"] }, "provider.ignore names it"],
    [{ order: ["four"], allowFallbacks: false }, /allow_fallbacks is false/],
  ])("names the controls %j as the reason for each deployment they exclude", (changes, reason) => {
    const explained = explainRoute(caseOf({ changes }));
    expect(explained.candidates.map((each) => each.providerId)).toEqual(["four"]);
    expect(explained.excluded).toHaveLength(3);
    for (const each of explained.excluded) expect(each.reason).toMatch(reason);
  });

  test("has the plan's candidates, order and refusal, and lists each deployment once", () => {
    const some = fc.subarray(IDS);
    const changes = fc.record(
      { only: some, ignore: some, order: some, allowFallbacks: fc.boolean() },
      { requiredKeys: [] },
    );
    const cases = fc.record({ unpriced: some, cooling: some, unservable: some, changes });
    fc.assert(
      fc.property(cases, (each) => {
        const input = caseOf(each);
        const planned = planRoute(input);
        const { candidates, excluded, refusal } = explainRoute(input);
        const isPlan = planned.kind === "plan";
        expect(candidates).toEqual(isPlan ? [planned.first, ...planned.others()] : []);
        expect(refusal).toEqual(isPlan ? undefined : planned.refusal);
        expect(refusal === undefined).toBe(candidates.length > 0);
        const seen = [...candidates, ...excluded.map(({ deployment: other }) => other)];
        expect(seen.map(({ providerId }) => providerId).toSorted()).toEqual(IDS.toSorted());
      }),
    );
  });
});

test("a conversation's last deployment is remembered for five minutes, up to 20,000 conversations", () => {
  const affinity = new Affinity();
  affinity.set("a", "acme/m", 0);
  expect(affinity.get("a", 299_999)).toBe("acme/m");
  expect(affinity.get("a", 300_000)).toBeUndefined();
  for (let at = 0; at < 20_000; at += 1) affinity.set(`later ${at}`, "acme/m", 1);
  expect(affinity.get("a", 2)).toBeUndefined();
  expect(affinity.get("later 0", 2)).toBe("acme/m");
});
