import { describe, expect, test } from "vitest";
import { outputTokensTotal, promptTokensTotal } from "../../../src/kernel/core/usage.ts";
import { until } from "../books.ts";
import type { TestAccount, TestGateway } from "../gateway.ts";
import { walletOf } from "../settled.ts";
import { TOOL_RESULT, type Deed, type Driver, type Outcome } from "./driver.ts";

export interface ClientRow {
  readonly name: string;
  readonly drive: Driver;
  readonly wire: "a" | "b";
  /** True for the official client of its wire, whose two ways to read a stream are both tested. */
  readonly isOfficial: boolean;
  /** How it asks for structured output; only a tool is translated for the other wire. */
  readonly structured: "format" | "tool" | "none";
  readonly errors: readonly [wrongKey: string, noCredit: string, noModel: string];
  /** The most requests that the client may send without credit. Default: 1, without a retry. */
  readonly requestsWithoutCredit?: number;
  /** Computes the tokens that the client reports, where they differ from the debited ones. */
  readonly usageRead?: (debited: Tokens, read: UsageRead) => Tokens;
}

export type Tokens = NonNullable<Outcome["tokens"]>;

interface UsageRead {
  readonly deed: Deed;
  readonly crosses: boolean;
}

const MODELS = [
  { model: "test/a", wire: "a" },
  { model: "test/b", wire: "b" },
] as const;
const CREDIT_MICRO_USD = 1_000_000n;

/** Declares the tests of the clients. Each test has its own account, so they run concurrently. */
export function clientMatrix(gateway: TestGateway, rows: readonly ClientRow[]): void {
  describe.concurrent.each(rows)("$name", (row) => {
    for (const { model, wire } of MODELS) {
      const place = row.wire === wire ? "its own wire" : "the other wire";
      answerCells({ gateway, row, model, crosses: row.wire !== wire }, `on ${place}`);
    }
    refusalCells(gateway, row);
  });
}

interface Cells {
  readonly gateway: TestGateway;
  readonly row: ClientRow;
  readonly model: string;
  readonly crosses: boolean;
}

function answerCells({ gateway, row, model, crosses }: Cells, where: string): void {
  const act = async (deed: Deed): Promise<{ outcome: Outcome; account: TestAccount }> => {
    const account = await gateway.account("1.00");
    const outcome = await row.drive(deed, { url: gateway.url, key: account.key, model });
    return { outcome, account };
  };

  const expectedTokens = async (deed: Deed, account: TestAccount): Promise<Tokens> => {
    const debited = await debitedTokens(gateway, account);
    return row.usageRead?.(debited, { deed, crosses }) ?? debited;
  };

  const streams: readonly Deed[] = row.isOfficial ? ["stream", "streamWithUsage"] : ["stream"];
  test.each(["plain", ...streams] as const)(
    `%s: the client reads the whole answer and the debited usage, ${where}`,
    async (deed) => {
      const { outcome, account } = await act(deed);
      expect(outcome).toMatchObject({ text: SAID, requests: 1 });
      expect(outcome.tokens).toEqual(await expectedTokens(deed, account));
    },
  );

  test(`a tool is called with its input, and the model answers from its result, ${where}`, async () => {
    const { outcome, account } = await act("tools");
    expect(outcome).toMatchObject({
      text: `The tool answered: ${TOOL_RESULT}`,
      toolInputs: [{ city: "sample city" }],
    });
    expect(await rowsOf(gateway, account)).toHaveLength(2);
  });

  if (row.structured === "format" && crosses) {
    test(`structured output is refused with an error that names the field, ${where}`, async () => {
      const { fault } = (await act("structured")).outcome;
      expect(fault?.message).toMatch(/response_format|output_config.format/);
    });
  } else if (row.structured !== "none") {
    test(`structured output fits its schema, ${where}`, async () => {
      const { outcome } = await act("structured");
      expect(outcome).toMatchObject({ object: { city: "sample city" }, requests: 1 });
    });
  }

  test(`a stream that the client cancels is settled once and leaves nothing held, ${where}`, async () => {
    const { outcome, account } = await act("cancel");
    expect(outcome.text).toMatch(/^word1/);
    const [settled] = await until("the attempt has ended", async () => {
      const rows = await rowsOf(gateway, account);
      return rows.every(({ basis }) => basis !== null) && rows.length > 0 ? rows : undefined;
    });
    expect(settled).toMatchObject({ basis: "reported" });
    expect(await walletOf(gateway, account)).toEqual({
      settled: CREDIT_MICRO_USD - (settled?.debitMicroUsd ?? 0n),
      held: 0n,
    });
  });
}

function refusalCells(gateway: TestGateway, row: ClientRow): void {
  const [wrongKey, noCredit, noModel] = row.errors;
  const ask = (key: string, model = "test/a"): Promise<Outcome> =>
    row.drive("plain", { url: gateway.url, key, model });

  test(`a wrong key is a 401 and raises ${wrongKey} after one request`, async () => {
    const key = `tm_vk_${"0".repeat(48)}`;
    const { fault, requests } = await ask(key);
    expect(fault).toMatchObject({ status: 401 });
    expect(fault?.classes).toContain(wrongKey);
    expect(requests).toBe(1);
  });

  const most = row.requestsWithoutCredit ?? 1;
  test(`missing credit is a 429 and raises ${noCredit} after at most ${most} requests`, async () => {
    const { key } = await gateway.account("0.000100");
    const { fault, requests } = await ask(key);
    expect(fault).toMatchObject({ status: 429 });
    expect(fault?.classes).toContain(noCredit);
    expect(requests).toBeLessThanOrEqual(most);
  });

  test(`an unknown model is a 404 and raises ${noModel} with the model id`, async () => {
    const { key } = await gateway.account("1.00");
    const { fault, requests } = await ask(key, "no/such");
    expect(fault).toMatchObject({ status: 404 });
    expect(fault?.classes).toContain(noModel);
    expect(fault?.message).toContain("no/such");
    expect(requests).toBe(1);
  });
}

const SAID = `You said: ${"x".repeat(400)}`;
/** The gateway's estimate of the prompt's tokens, as count_tokens returns it. */
export const ESTIMATED_INPUT = 85;
/** The cached tokens of the prompt, which the account's usage shows as cached. */
export const CACHED_INPUT = 40;

type UsageRows = Awaited<ReturnType<TestGateway["backend"]["recordStore"]["usagePage"]>>["rows"];

async function rowsOf(gateway: TestGateway, { orgId }: TestAccount): Promise<UsageRows> {
  return (await gateway.backend.recordStore.usagePage({ orgId, limit: 10 })).rows;
}

async function debitedTokens(gateway: TestGateway, account: TestAccount): Promise<Tokens> {
  const [only] = await rowsOf(gateway, account);
  if (!only?.usage) throw new Error("the request was not settled with its usage");
  return { input: promptTokensTotal(only.usage), output: outputTokensTotal(only.usage) };
}
