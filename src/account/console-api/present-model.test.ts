import { describe, expect, test } from "vitest";

import type { Deployment, ListedProvider } from "../../catalog/catalog.ts";
import type { ProviderId } from "../../kernel/core/ids.ts";
import { presentProvider } from "./present-model.ts";

const PROVIDER: ListedProvider = {
  id: "acme" as ProviderId,
  name: "Acme",
  privacyPolicyUrl: "https://acme.example/privacy",
  promptLogging: "none",
  deployments: [deployment("one", ["DE", "FI"]), deployment("two", ["DE"])],
};

/** A deployment with the fields that a provider's page shows. */
function deployment(modelId: string, datacenters: readonly string[]): Deployment {
  return { id: `acme/${modelId}`, modelId, datacenters } as unknown as Deployment;
}

function shown(
  one: "yes" | "probe" | "no",
  two: "yes" | "probe" | "no",
  activity?: { readonly succeeded: number; readonly firstByteP50Ms: number | null },
) {
  return presentProvider(PROVIDER, {
    activity: activity && { providerId: "acme", attempts: 200, ...activity },
    substitutions: [
      { providerId: "acme", modelId: "one", servedModel: "one-mini", share: null },
      { providerId: "acme", modelId: "two", servedModel: "two-mini", share: 0.299 },
      { providerId: "acme", modelId: "unlisted", servedModel: "secret", share: 1 },
    ],
    mayTry: (id) => (id === "acme/one" ? one : two),
  });
}

describe("a provider", () => {
  test.each([
    ["yes", "yes", "healthy"],
    ["yes", "probe", "cooling"],
    ["no", "yes", "cooling"],
    ["no", "probe", "cooling"],
    ["no", "no", "open"],
  ] as const)("with the mayTry answers %s and %s for its listings is %s", (one, two, status) => {
    expect(shown(one, two).status).toBe(status);
  });

  test("has a success rate in whole percents, rounded down, and times to two significant digits", () => {
    expect(shown("yes", "yes", { succeeded: 199, firstByteP50Ms: 1_234 })).toMatchObject({
      success_24h: 0.99,
      ttft_p50_ms: 1_200,
    });
    expect(shown("yes", "yes", { succeeded: 20, firstByteP50Ms: null })).toMatchObject({
      success_24h: 0.1,
      ttft_p50_ms: null,
    });
  });

  test("has null figures if its activity is not given", () => {
    expect(shown("yes", "yes")).toMatchObject({ success_24h: null, ttft_p50_ms: null });
  });

  test("names each country of its data centers once, and has null for pages that it does not have", () => {
    expect(shown("yes", "yes")).toMatchObject({
      datacenters: ["DE", "FI"],
      models: ["one", "two"],
      terms_of_service_url: null,
      status_page_url: null,
    });
  });

  test("shows the substitutions of its listed models, with shares rounded down to whole percents", () => {
    expect(shown("yes", "yes").substitutions).toEqual([
      { model: "one", served_model: "one-mini", share_24h: null },
      { model: "two", served_model: "two-mini", share_24h: 0.29 },
    ]);
  });
});
