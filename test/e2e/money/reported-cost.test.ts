import { createServer } from "node:http";
import { text as readText } from "node:stream/consumers";

import { describe, expect, test } from "vitest";

import { ask, costOf, type Wire } from "../../support/ask.ts";
import { brokenBooks, ended, nothingHeld } from "../../support/books.ts";
import { simulatorManifest, textModel, tokenPrices, withGateway } from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";

/** The provider reports the number between bars; a word after it means: without token counts. */
const REPORTED = /\|([^| ]*) ?([^|]*)\|/;

const provider = withServer(() =>
  createServer((request, response) => {
    void readText(request).then((body) => {
      const [, amount = "", form = ""] = REPORTED.exec(body) ?? [];
      const counts =
        form === "" ? ['"prompt_tokens":11,"completion_tokens":7,"total_tokens":18'] : [];
      const cost = form === "ticks" ? `"cost_in_usd_ticks":${amount}` : `"cost":${amount}`;
      const usage = `{${[...counts, ...(amount === "" ? [] : [cost])].join(",")}}`;
      const stream = body.includes('"stream":true');
      response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
      response.end(stream ? streamOf(usage) : wholeOf(usage));
    });
  }),
);
const gateway = withGateway(() => {
  const manifest = simulatorManifest({
    provider: "metered",
    dialect: "wire_a",
    baseUrl: `${provider.url}/v1`,
    models: [
      textModel("metered/model", {
        pricing: tokenPrices({ prompt: 0, completion: 1 }),
        price_card: [{ unit: "token", cost_usd: "0.000002" }],
      }),
    ],
  }) as { endpoint: object };
  Object.assign(manifest.endpoint, { billing: "reported_cost" });
  return { manifests: [manifest] };
});

function wholeOf(usage: string): string {
  return (
    `{"id":"c1","object":"chat.completion","created":1,"model":"metered/model","choices":[` +
    `{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],` +
    `"usage":${usage}}`
  );
}

function streamOf(usage: string): string {
  const chunk = (choices: string, more = ""): string =>
    `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"metered/model",` +
    `"choices":[${choices}]${more}}\n\n`;
  return (
    chunk(`{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}`) +
    chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`) +
    chunk("", `,"usage":${usage}`) +
    "data: [DONE]\n\n"
  );
}

/** The hold for 4,000 output tokens at one micro-dollar each. */
const HELD_MICRO_USD = 4_000n;
const WAYS = (["wire_a", "wire_b"] as const).flatMap((wire) =>
  [false, true].map((stream) => ({ wire, stream })),
);

interface Paid {
  readonly reported: bigint | undefined;
  readonly debitMicroUsd: bigint;
  readonly basis: string | null;
  readonly errorClass: string | null;
}

async function pay(way: { wire: Wire; stream: boolean }, reported: string): Promise<Paid> {
  const account = await gateway.account("10");
  const answer = await ask(gateway.url, {
    key: account.key,
    model: "metered/model",
    text: `|${reported}|`,
    maxTokens: Number(HELD_MICRO_USD),
    ...way,
  });
  expect(answer.status).toBe(200);
  const record = await ended(gateway, account, answer.requestId);
  await nothingHeld(gateway, account);
  const { settledMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
  const [attempt] = record.attempts;
  expect(settledMicroUsd).toBe(10_000_000n - (attempt?.debitMicroUsd ?? -1n));
  return {
    reported: costOf(answer),
    debitMicroUsd: attempt?.debitMicroUsd ?? -1n,
    basis: attempt?.basis ?? null,
    errorClass: attempt?.errorClass ?? null,
  };
}

describe("a cost that the provider reports", () => {
  test.each(WAYS)("is charged on $wire, stream $stream", async (way) => {
    const paid = { reported: 1_932n, debitMicroUsd: 1_932n, basis: "reported", errorClass: null };
    expect(await pay(way, "0.001932")).toEqual(paid);
  });

  test.each(
    ["0.001932 alone", "19320000 ticks"].flatMap((cost) => WAYS.map((way) => ({ cost, ...way }))),
  )("is charged without token counts on $wire, stream $stream: $cost", async ({ cost, ...way }) => {
    const paid = { reported: 1_932n, debitMicroUsd: 1_932n, basis: "reported", errorClass: null };
    expect(await pay(way, cost)).toEqual(paid);
  });

  const document = { wire: "wire_a", stream: false } as const;
  const stream = { wire: "wire_b", stream: true } as const;

  test.each([
    // No float has exactly this value; parsed as a float, the debit would be 1,932.
    ["0.00193199999999999999999999", 1_931n],
    ["1.2e-5", 12n],
    ["0.0000009", 0n],
  ])("of %s dollars is charged from its digits, rounded down once", async (reported, debit) => {
    const paid = await pay(stream, reported);
    expect(paid).toMatchObject({ reported: debit, debitMicroUsd: debit, basis: "reported" });
    expect(paid.errorClass).toBeNull();
  });

  test("is charged at most up to the hold", async () => {
    const paid = await pay(document, "999999.99");
    expect(paid).toMatchObject({ reported: HELD_MICRO_USD, debitMicroUsd: HELD_MICRO_USD });
  });

  test.each([
    [document, "1000000.01"],
    [stream, "1e300"],
  ])("is not charged when the amount is impossible: %j %s", async (way, reported) => {
    const nothing = { reported: 0n, debitMicroUsd: 0n, basis: "none" };
    expect(await pay(way, reported)).toEqual({ ...nothing, errorClass: "usage_impossible" });
  });

  test.each([
    [stream, ""],
    [document, "-0.01"],
  ])("is not charged when the value is not an amount: %j %j", async (way, reported) => {
    expect(await pay(way, reported)).toMatchObject({ debitMicroUsd: 0n, basis: "none" });
  });
});

test("the books balance after costs above the hold", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
