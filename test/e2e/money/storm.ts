import { expect } from "vitest";

import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { costOf, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, debitsOf, nothingHeld, until } from "../../support/books.ts";
import type { GatedProvider } from "../../support/gated-provider.ts";
import type { TestAccount } from "../../support/gateway.ts";
import type { PostgresBackend } from "../../../src/app/open-postgres-backend.ts";

interface Storm {
  readonly backend: PostgresBackend;
  readonly provider: GatedProvider;
  readonly account: TestAccount;
  readonly requests: number;
  readonly affordable: number;
  /** Micro-dollars that each request holds. */
  readonly worst: bigint;
  readonly send: (n: number) => Promise<HttpAnswer>;
}

/**
 * Sends all requests at once, and lets the affordable ones end when all others are refused. Checks
 * the balance meanwhile and the books afterwards. Returns the refusals.
 */
export async function storm(of: Storm): Promise<readonly HttpAnswer[]> {
  const { backend, provider, account, affordable } = of;
  const before = provider.calls.length;
  const refused: HttpAnswer[] = [];
  const sent = Array.from({ length: of.requests }, async (_none, n) => {
    let answer = await of.send(n);
    // On a busy machine some holds wait too long for the ledger; clients send those again, too.
    while (isTooSlow(answer)) answer = await of.send(n);
    if (answer.status !== 200) refused.push(answer);
    return answer;
  });
  let isOver = false;
  const answers = Promise.all(sent).finally(() => (isOver = true));
  const watch = watchAvailable(backend, account.orgId, () => isOver);
  await until("all others are refused", () => refused.length === of.requests - affordable);
  await until("the affordable are out", () => provider.calls.length - before >= affordable);
  const { heldMicroUsd } = await backend.recordStore.balance(account.orgId);
  expect(heldMicroUsd).toBe(of.worst * BigInt(affordable));
  for (const call of provider.calls.slice(before)) call.release();
  const served = (await answers).filter(({ status }) => status === 200);
  expect(await watch).toEqual([]);
  expect(provider.calls.length - before).toBe(affordable);
  expect(served).toHaveLength(affordable);
  expect(refused.filter(({ status }) => status !== 429)).toEqual([]);
  await expectExactBooks(backend, account, served);
  return refused;
}

function isTooSlow({ status, text }: HttpAnswer): boolean {
  return status === 503 && text.includes("the ledger journal does not answer");
}

/** Collects available amounts (balance minus holds) below zero that it sees until `isOver`. */
async function watchAvailable(
  backend: PostgresBackend,
  orgId: OrgId,
  isOver: () => boolean,
): Promise<bigint[]> {
  const negative: bigint[] = [];
  while (!isOver()) {
    const { settledMicroUsd, heldMicroUsd } = await backend.recordStore.balance(orgId);
    if (settledMicroUsd < heldMicroUsd) negative.push(settledMicroUsd - heldMicroUsd);
    await new Promise((done) => setTimeout(done, 20));
  }
  return negative;
}

/** Checks that journal, records and answers have the same costs, and nothing is held any more. */
async function expectExactBooks(
  backend: PostgresBackend,
  account: TestAccount,
  served: readonly HttpAnswer[],
): Promise<void> {
  await nothingHeld({ backend }, account);
  const reported = served.reduce((sum, answer) => sum + (costOf(answer) ?? -1n), 0n);
  expect(reported).toBeGreaterThan(0n);
  const page = { orgId: account.orgId, limit: 1_000 };
  const { rows } = await backend.recordStore.usagePage(page);
  expect(rows.reduce<bigint>((sum, row) => sum + row.debitMicroUsd, 0n)).toBe(reported);
  expect(await debitsOf({ backend }, account)).toBe(reported);
  expect(await brokenBooks({ backend })).toEqual([]);
}
