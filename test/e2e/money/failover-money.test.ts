import { expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { ask, bodyOf, get, at, type Ask } from "../../support/ask.ts";
import { brokenBooks, ended, nothingHeld } from "../../support/books.ts";
import { simulatorManifest, textModel, withGateway } from "../../support/gateway.ts";

const gateway = withGateway(() => {
  const dear = [
    { type: "prompt", unit: "token", cost_usd_per_million: "100" },
    { type: "completion", unit: "token", cost_usd_per_million: "1000" },
  ];
  const models = [textModel("m/cheap-then-dear")];
  return {
    manifests: [
      simulatorManifest({ provider: "cheap", dialect: "wire_a", models }),
      simulatorManifest({
        provider: "dear",
        dialect: "wire_a",
        priority: 1,
        models: [textModel("m/cheap-then-dear", { pricing: dear })],
      }),
    ],
  };
});

test("a client without money for the next provider gets the error of the last one", async () => {
  const request: Ask = {
    key: "",
    wire: "wire_a",
    model: "m/cheap-then-dear",
    text: "once [[fault:status:500]]",
  };
  const cheap = BigInt(Buffer.byteLength(bodyOf(request))) + 640n;
  const account = await gateway.account(formatUsd(microUsd(cheap * 2n)));
  const answer = await ask(gateway.url, { ...request, key: account.key });
  expect(answer.status).toBe(500);
  expect(answer.headers).toMatchObject({
    "x-tm-error-code": "upstream_error",
    "x-tm-attempts": "1",
    "x-tm-upstream-status": "500",
  });
  expect(gateway.simulator.counts().total).toBe(1);
  await nothingHeld(gateway, account);
  const record = await ended(gateway, account, answer.requestId);
  expect(record.outcome).toBe("failed");
  expect(record.attempts).toHaveLength(1);
  const path = `/v1/generation?id=${answer.requestId}`;
  const { json } = await get(gateway.url, { key: account.key, path });
  expect(at(json, "data")).toMatchObject({ outcome: "failed", cost_micro_usd: 0 });
  expect(await brokenBooks(gateway)).toEqual([]);
});
