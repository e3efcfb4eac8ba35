import { expect, test } from "vitest";

import { at, listAt } from "../../../test/support/http-call.ts";
import { catalogHandlers } from "./catalog-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";

const LISTED = { id: "acme/one", modelId: "one", datacenters: [] };
const PROVIDER = { id: "acme", name: "Acme", deployments: [LISTED] };
const SUBSTITUTED = { providerId: "acme", modelId: "one", servedModel: "mini", share: 0.5 };
const ACTIVITY = { providerId: "acme", attempts: 200, succeeded: 199, firstByteP50Ms: 120 };

/** Builds a reader of the public provider list; `asked` counts the queries that it caused. */
function consoleOf(listingsPublicFigures: boolean) {
  const asked = { activity: 0, substitutions: 0 };
  let nowMs = 0;
  const deps = {
    catalog: { current: { providers: [PROVIDER], models: [] } },
    clock: { monotonicMs: () => nowMs },
    config: { listingsPublicFigures },
    health: { mayTry: () => "yes" },
    log: { warn: () => undefined },
    reports: {
      providerActivity: async () => ((asked.activity += 1), [ACTIVITY]),
      substitutions: async () => ((asked.substitutions += 1), [SUBSTITUTED]),
    },
  } as unknown as ConsoleDeps;
  const handlers = catalogHandlers(deps);
  const read = async () => {
    const document = await handlers["GET /api/providers.json"]({} as never);
    return listAt(JSON.parse(String(Object(document).body)), "providers")[0];
  };
  return { asked, read, wait: (ms: number) => (nowMs += ms) };
}

test("figures over all customers are neither read nor shown unless the operator publishes them", async () => {
  const { asked, read } = consoleOf(false);
  expect(at(await read(), "success_24h")).toBeNull();
  expect(asked).toEqual({ activity: 0, substitutions: 1 });
});

test("a substitution is always shown, but its share only if the operator publishes figures", async () => {
  const shown = async (isPublic: boolean) => at(await consoleOf(isPublic).read(), "substitutions");
  const named = { model: "one", served_model: "mini" };
  expect(await shown(false)).toEqual([{ ...named, share_24h: null }]);
  expect(await shown(true)).toEqual([{ ...named, share_24h: 0.5 }]);
});

test("published figures of providers are read once an hour", async () => {
  const { asked, read, wait } = consoleOf(true);
  expect(at(await read(), "success_24h")).toBe(0.99);
  wait(3_599_000);
  await read();
  expect(asked).toEqual({ activity: 1, substitutions: 1 });
  wait(1_000);
  await read();
  expect(asked).toEqual({ activity: 2, substitutions: 2 });
});
