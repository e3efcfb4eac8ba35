import { expect, test } from "vitest";

import { ask, at, get, type HttpAnswer } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { MovableClock } from "../support/clocks.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { recordVerdict } from "../support/record-verdict.ts";

const MODEL = "test/m";
const DAY_MS = 86_400_000;

const clock = new MovableClock();
const gateway = withGateway({
  clock,
  settings: { requireVerified: true },
  manifests: ["first", "second"].map((provider, priority) =>
    simulatorManifest({
      provider,
      dialect: "wire_a",
      priority,
      baseUrl: `{simulator}/${provider}/v1`,
      models: [textModel(MODEL)],
    }),
  ),
});
const account = withAccount(gateway, "5.00");

function asked(): Promise<HttpAnswer> {
  return ask(gateway.url, { key: account.key, wire: "wire_a", model: MODEL, text: "Hi" });
}

async function statesAre(...wanted: readonly string[]): Promise<void> {
  await until(`the listings are ${wanted.join(" and ")}`, async () => {
    const { json } = await get(gateway.url, { key: account.key, path: `/v1/models/${MODEL}` });
    const providers = at(json, "providers") as readonly unknown[];
    const states = providers.map((each) => at(each, "verification", "state"));
    return states.join() === wanted.join();
  });
}

async function expectRefused(): Promise<void> {
  const before = await gateway.backend.recordStore.balance(account.orgId);
  const calls = gateway.simulator.calls().length;
  const { status, json } = await asked();
  expect({ status, error: at(json, "error") }).toMatchObject({
    status: 404,
    error: {
      code: "model_unavailable",
      message:
        "no provider of test/m that this request may use is verified at the moment; " +
        "choose another model, or try again later",
    },
  });
  expect(await gateway.backend.recordStore.balance(account.orgId)).toEqual(before);
  expect(gateway.simulator.calls().length).toBe(calls);
}

async function expectServedBy(provider: string): Promise<void> {
  const { status, headers } = await asked();
  expect({ status, by: headers["x-tm-provider"] }).toEqual({ status: 200, by: provider });
}

test("only a listing that passed conformance in the last 30 days is routed", async () => {
  await statesAre("unchecked", "unchecked");
  await expectRefused();

  await recordVerdict(gateway, "first", "fail");
  await recordVerdict(gateway, "second", "warn");
  await statesAre("failed", "verified_in_part");
  await expectServedBy("second");

  clock.moveOn(31 * DAY_MS);
  await statesAre("failed", "expired");
  await expectRefused();
});
