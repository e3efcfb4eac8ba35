import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { ANTHROPIC_CLIENTS, say } from "../../support/anthropic-clients.ts";
import { at, get } from "../../support/ask.ts";
import { brokenBooks, debitOf, ended, nothingHeld } from "../../support/books.ts";
import {
  simulatorManifest,
  textModel,
  tokenPrices,
  withAccount,
  withGateway,
} from "../../support/gateway.ts";

/* Pico-dollars per token. No two share a factor, so mixed-up prices change the cost. */
const SOLD = { prompt: 5_000_011n, cacheWrite: 6_250_013n, hour: 10_000_019n, output: 25_000_037n };
const OWED = { prompt: 4_000_003n, cacheWrite: 5_000_011n, hour: 8_000_017n, output: 20_000_029n };

type Rates = typeof SOLD;
// Pico-dollars per token are the same number of micro-dollars per million tokens.
const usd = (pico: bigint): string => formatUsd(microUsd(pico));

function pricing({ prompt, cacheWrite, output }: Rates): readonly object[] {
  return tokenPrices({
    prompt: usd(prompt),
    cache_write: usd(cacheWrite),
    completion: usd(output),
  });
}

const model = (id: string): object => textModel(id, { pricing: pricing(SOLD) });

const gateway = withGateway(() => ({
  manifests: [
    {
      ...simulatorManifest({
        provider: "lab",
        dialect: "wire_b",
        models: [model("lab/hour"), model("lab/usual")],
      }),
      listing_terms: {
        "lab/hour": {
          extra_pricing: { cache_write_1h: usd(SOLD.hour) },
          purchase_pricing: pricing(OWED),
          purchase_extra: { cache_write_1h: usd(OWED.hour) },
        },
      },
    },
  ],
}));
const account = withAccount(gateway, "100");

interface Counts {
  readonly input: number;
  readonly written: number;
  readonly hour: number;
  readonly output: number;
}

function cost(rates: Rates, { input, written, hour, output }: Counts): bigint {
  return (
    BigInt(input) * rates.prompt +
    BigInt(written - hour) * rates.cacheWrite +
    BigInt(hour) * rates.hour +
    BigInt(output) * rates.output
  );
}

function countsOf(usage: Anthropic.Usage): Counts {
  return {
    input: usage.input_tokens,
    written: usage.cache_creation_input_tokens ?? 0,
    hour: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    output: usage.output_tokens,
  };
}

/** The amount owed to the provider now, and our margin. */
async function balanceOf(provider: string): Promise<{ accrued: bigint; margin: bigint }> {
  const [balance] = await gateway.backend.settlementStore.balances(provider);
  return { accrued: balance?.accruedMicroUsd ?? 0n, margin: balance?.marginMicroUsd ?? 0n };
}

function newestClient(): Anthropic {
  const [, Client] = ANTHROPIC_CLIENTS.at(-1) ?? [];
  if (Client === undefined) throw new Error("no client");
  return new Client({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
}

const hourly = (id: string): Anthropic.MessageCreateParamsNonStreaming => ({
  model: id,
  max_tokens: 64,
  system: [
    {
      type: "text",
      text: "x".repeat(400),
      cache_control: { type: "ephemeral", ttl: "1h" },
    },
    { type: "text", text: "y".repeat(80), cache_control: { type: "ephemeral" } },
  ],
  messages: [say("Hello")],
});

test.each([
  ["without streaming", false],
  ["streaming", true],
])(
  "%s, one-hour cache writes are charged at their own price, and the provider is owed its price",
  async (_, s) => {
    const client = newestClient();
    const before = await balanceOf("lab");
    const { data: message, request_id: id } = await (s
      ? client.messages
          .stream(hourly("lab/hour"))
          .withResponse()
          .then(async ({ data, request_id }) => ({ data: await data.finalMessage(), request_id }))
      : client.messages.create(hourly("lab/hour")).withResponse());
    const counts = countsOf(message.usage);
    expect(counts.hour).toBeGreaterThanOrEqual(100);
    expect(counts.written).toBeGreaterThan(counts.hour);

    const record = await ended(gateway, account, id ?? "");
    const debit = cost(SOLD, counts) / 1_000_000n;
    expect(debitOf(record)).toBe(debit);
    const [attempt] = record.attempts;
    expect(attempt?.usage).toMatchObject({
      cacheWrite: counts.written,
      cacheWrite1h: counts.hour,
    });
    // The hold assumes the highest price: the whole prompt is written to the cache for an hour.
    expect(attempt?.reserveMicroUsd).toBeGreaterThan((480n * SOLD.hour) / 1_000_000n);

    const after = await balanceOf("lab");
    const owed = cost(OWED, counts) / 1_000_000n;
    expect(after).toEqual({
      accrued: before.accrued + owed,
      margin: before.margin + debit - owed,
    });
    const path = `/v1/generation?id=${id}`;
    const shown = (await get(gateway.url, { key: account.key, path })).json;
    for (const place of [
      ["data", "usage"],
      ["data", "attempts", 0, "tokens"],
    ] as const) {
      expect(at(shown, ...place)).toMatchObject({
        cache_write: counts.written,
        cache_write_1h: counts.hour,
      });
    }
  },
);

test("the list of models has the price of one-hour cache writes, and no purchase price", async () => {
  const list = (await get(gateway.url, { key: account.key, path: "/v1/models" })).json;
  const models = at(list, "data") as readonly { id: string; pricing: object }[];
  const hour = models.find(({ id }) => id === "lab/hour");
  expect(hour?.pricing).toMatchObject({ input_cache_write_1h: "0.000010000019" });
  expect(models.find(({ id }) => id === "lab/usual")?.pricing).not.toHaveProperty(
    "input_cache_write_1h",
  );
  expect(JSON.stringify(list)).not.toContain("0.000004000003");
});

test("the books balance after all tests, and nothing is held", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
