import { describe, expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { ask, bodyOf, type Ask, type HttpAnswer, type Wire } from "../../support/ask.ts";
import { brokenBooks, debitOf, ended, nothingHeld } from "../../support/books.ts";
import { capOf, capsOf } from "../../support/cap-refusals.ts";
import { gatedManifest, sendToGate, withGatedProvider } from "../../support/gated-provider.ts";
import { withGateway, withSimulator, type TestAccount } from "../../support/gateway.ts";
import { jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import { testOperator } from "../../support/test-operator.ts";

const SCOPES = ["org", "key"] as const;
type Scope = (typeof SCOPES)[number];
const MAX_TOKENS = 100;

const simulator = withSimulator();
const provider = withGatedProvider(simulator);
const gateway = withGateway(() => ({
  manifests: [gatedManifest(provider)],
}));

function asked({ key }: Pick<TestAccount, "key">, wire: Wire = "wire_a"): Ask {
  return { key, wire, model: "gated/model", text: "spend", maxTokens: MAX_TOKENS };
}

/** The most that a request can cost: a micro-dollar per byte, ten per output token. */
const WORST = BigInt(Buffer.byteLength(bodyOf(asked({ key: "" })))) + BigInt(MAX_TOKENS) * 10n;

/** The end of a refusal's message if this many micro-dollars are available. */
function fitting(micros: bigint): string {
  const output = (micros - (WORST - BigInt(MAX_TOKENS) * 10n)) / 10n;
  return output > 0n
    ? `what fits is at most ${output} output tokens with this balance; buy credit or lower max_tokens`
    : "not even its input and one output token fit with this balance; buy credit or shorten its input";
}

function usd(amount: bigint): string {
  return formatUsd(microUsd(amount));
}

/** A request that waits at the provider until it is released. */
interface Running {
  /** Lets the request end; returns its cost. */
  end(): Promise<bigint>;
}

async function run(account: TestAccount, wire: Wire = "wire_a"): Promise<Running> {
  const { call, answer } = await sendToGate(provider, () => ask(gateway.url, asked(account, wire)));
  return {
    end: async () => {
      call.release();
      const { status, requestId } = await answer;
      expect(status).toBe(200);
      return debitOf(await ended(gateway, account, requestId));
    },
  };
}

async function spend(account: TestAccount): Promise<bigint> {
  return await (await run(account)).end();
}

async function setCap(account: TestAccount, scope: Scope, cap: bigint | null): Promise<void> {
  const { accountStore } = gateway.backend;
  const amount = cap === null ? null : microUsd(cap);
  const isSet =
    scope === "org"
      ? await accountStore.setOrgCap(account.orgId, amount, testOperator)
      : (await accountStore.editKeys(
          "anyone",
          [account.keyId],
          { caps: { month: amount } },
          testOperator,
        )) !== undefined;
  expect(isSet).toBe(true);
}

/** Sends a request that must be refused before anything is sent or held. */
async function refused(account: TestAccount, wire: Wire = "wire_a"): Promise<HttpAnswer> {
  const sent = provider.calls.length;
  const held = await gateway.backend.recordStore.balance(account.orgId);
  const answer = await ask(gateway.url, asked(account, wire));
  expect(answer.status).toBe(429);
  expect(provider.calls.length).toBe(sent);
  expect(await gateway.backend.recordStore.balance(account.orgId)).toEqual(held);
  return answer;
}

const PLAIN_REFUSAL = {
  "x-tm-error-code": "insufficient_quota",
  "x-tm-error-origin": "gateway_admission",
  "x-tm-limit-kind": "spend",
  "x-should-retry": "false",
};

/** The error body in the wire's format; both wires have the same `message` and `metadata`. */
function bodyWith(wire: Wire, answer: HttpAnswer, said: { message: string; metadata: object }) {
  const { message, metadata } = said;
  const request_id = answer.requestId;
  const code = "insufficient_quota";
  return wire === "wire_a"
    ? {
        error: { code, message, type: code, metadata: { error_type: code, ...metadata } },
        request_id,
      }
    : {
        type: "error",
        error: { type: "billing_error", message, error_type: code, metadata },
        request_id,
      };
}

describe("a refusal", () => {
  test.each([
    ["wire_a", "org"],
    ["wire_b", "key"],
  ] as const)(
    "on %s by a cap of the %s is exact to the micro-dollar, and names the cap, spend and hold",
    async (wire, scope) => {
      const account = await gateway.account("100");
      const spent = await spend(account);
      const running = await run(account);
      const cap = spent + WORST + WORST;
      await setCap(account, scope, cap - 1n);
      const answer = await refused(account, wire);
      const reset = String(answer.headers["x-tm-cap-reset"]);
      expect(answer.headers).toMatchObject({ ...PLAIN_REFUSAL, "x-tm-limit-scope": scope });
      const limitId = `${scope}:${scope === "org" ? account.orgId : account.keyId}`;
      expect(answer.headers).toMatchObject({
        "x-tm-limit-id": limitId,
        "retry-after": "60",
      });
      for (const name of ["x-tm-attempts", "x-tm-provider"]) {
        expect(answer.headers).not.toHaveProperty(name);
      }
      const whose = scope === "org" ? "the organization's" : "this key's";
      expect(answer.json).toEqual(
        bodyWith(wire, answer, {
          message:
            `${whose} monthly spend cap (scope ${scope}) of $${usd(cap - 1n)} would be exceeded: ` +
            `$${usd(spent)} is spent this month and $${usd(WORST)} in flight, ` +
            `this request may cost up to $${usd(WORST)}; ` +
            `what fits is at most ${MAX_TOKENS - 1} output tokens with what is left of it; ` +
            `lower max_tokens, raise the cap or resend after it resets at ${reset}`,
          metadata: {
            origin: "gateway_admission",
            limit_scope: scope,
            limit_kind: "spend",
            limit_id: limitId,
            retryable: false,
            reset_at: reset,
          },
        }),
      );
      expect(reset).toBe(nextUtcMonth());
      await setCap(account, scope, cap);
      const second = await run(account, wire);
      await Promise.all([running.end(), second.end()]);
      await nothingHeld(gateway, account);
    },
  );

  test("by a low balance names the amounts, and is retryable while the account's requests hold money", async () => {
    const account = await gateway.account(usd(2n * WORST - 1n));
    const running = await run(account);
    const metadata = { origin: "gateway_admission", limit_scope: "org", limit_kind: "spend" };
    const waiting = await refused(account);
    expect(waiting.json).toEqual(
      bodyWith("wire_a", waiting, {
        message:
          `this request may cost up to $${usd(WORST)}; $${usd(WORST - 1n)} is available and ` +
          `$${usd(WORST)} is held by running requests; what fits is at most ${MAX_TOKENS - 1} output tokens ` +
          "with this balance; retry when a running request has ended",
        metadata: { ...metadata, retryable: true },
      }),
    );
    const spent = await running.end();
    // Nothing is held now, and the balance itself is too small.
    let left = 2n * WORST - 1n - spent;
    while (left >= WORST) left -= await spend(account);
    const dear = await refused(account);
    expect(dear.json).toEqual(
      bodyWith("wire_a", dear, {
        message:
          `this request may cost up to $${usd(WORST)}; $${usd(left)} is available and ` +
          `$${usd(0n)} is held by running requests; ${fitting(left)}`,
        metadata: { ...metadata, retryable: false },
      }),
    );
    expect([waiting, dear].map(({ headers }) => headers["retry-after"])).toEqual(["2", "60"]);
    for (const { headers } of [waiting, dear]) {
      expect(headers).toMatchObject({ ...PLAIN_REFUSAL, "x-tm-limit-scope": "org" });
      for (const name of ["x-tm-cap-reset", "x-tm-limit-id"]) {
        expect(headers).not.toHaveProperty(name);
      }
    }
  });
});

test("a refusal names the key's cap before the organization's cap, and any cap before the balance", async () => {
  const account = await gateway.account(usd(WORST - 1n));
  await setCap(account, "org", WORST - 1n);
  await setCap(account, "key", WORST - 1n);
  expect(capsOf([await refused(account)])).toEqual([capOf("key")]);
  await setCap(account, "key", WORST);
  expect(capsOf([await refused(account)])).toEqual([capOf("org")]);
  await setCap(account, "org", null);
  expect((await refused(account)).headers).not.toHaveProperty("x-tm-cap-reset");
});

test.each(SCOPES)(
  "a cap of the %s that an operator sets or removes applies to the next request",
  async (scope) => {
    const account = await gateway.account("100");
    const answers = (cap: string | null): object => {
      const ofOrg = { caps: expect.arrayContaining([expect.objectContaining({ cap_usd: cap })]) };
      return { code: 0, json: scope === "key" ? { key_id: account.keyId, cap_usd: cap } : ofOrg };
    };
    const cap = (...flags: string[]) => capCommand(scope, account, flags);
    // The cap is below the spend so far, so no request is admitted any more.
    await spend(account);
    const set = await cap("--cap-usd", "0.000001", "--confirm");
    expect(set).toMatchObject(answers("0.000001"));
    expect(capsOf([await refused(account)])).toEqual([capOf(scope)]);
    const removed = await cap("--cap-usd", "0");
    expect(removed).toMatchObject(answers(null));
    await spend(account);
  },
);

test("the books balance after all tests", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});

function capCommand(scope: Scope, account: TestAccount, flags: readonly string[]) {
  const change = scope === "org" ? ["org", "cap", account.orgId] : ["key", "change", account.keyId];
  return jsonCommand([...change, ...flags], onThisDatabase());
}

function onThisDatabase(): Record<string, string> {
  return { ...OPERATOR_ENV, DATABASE_URL: gateway.config.databaseUrl };
}

function nextUtcMonth(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString();
}
