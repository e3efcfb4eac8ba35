import { setTimeout as sleep } from "node:timers/promises";

import { parseRequestId } from "../../src/kernel/core/ids.ts";
import type { RequestRecord } from "../../src/gateway/records/record-rows.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { TestAccount } from "./gateway.ts";
import type { HttpAnswer } from "./http-call.ts";

const POLL_MS = 10;
/** Far below any limit of requests a minute. */
const CALL_EVERY_MS = 100;
/**
 * Far longer than anything takes on a busy machine, and shorter than a test may take: the failure
 * then names what did not happen.
 */
const UNTIL_MS = 50_000;

/** The open holds. The id of an annulled attempt has a row, too, for an hour; it holds nothing. */
export const OPEN_HOLDS_SQL = `
  select row_to_json(h)::text as hold, now()::text as at from hold h where not annulled`;

/** A gateway of this process, or only the stores that it shares with others. */
interface HasBooks {
  readonly backend: PostgresBackend;
}

/**
 * Waits until `read` gives something other than undefined or false. A bound of its own is for a test
 * that promises to be faster than `waitMs`.
 */
export async function until<T>(
  what: string,
  read: () => Promise<T | undefined | false> | T | undefined | false,
  waitMs = UNTIL_MS,
): Promise<T> {
  const lastMs = performance.now() + waitMs;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > lastMs) throw new Error(`waited ${waitMs} ms in vain until ${what}`);
    await sleep(POLL_MS);
  }
}

/** Calls again until the answer is as wanted, as it has to be after a change of a key's rules. */
export async function callUntil<Answer extends HttpAnswer>(
  what: string,
  call: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  return await until(what, async () => {
    const answer = await call();
    if (isWanted(answer)) return answer;
    await sleep(CALL_EVERY_MS);
    return false;
  });
}

/** Waits until no hold is left on the account's wallet. */
export function nothingHeld(gateway: HasBooks, account: TestAccount): Promise<true> {
  return until("nothing is held", async () => {
    const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
    return heldMicroUsd === 0n;
  });
}

/** The record of a request that has ended. */
export async function ended(
  gateway: HasBooks,
  account: TestAccount,
  requestId: string,
): Promise<RequestRecord> {
  const id = parseRequestId(requestId);
  if (id === undefined) throw new Error(`not a request id: ${requestId}`);
  return await until(`request ${requestId} has ended`, async () => {
    const record = await gateway.backend.recordStore.generation(account.orgId, id);
    return record !== undefined && record.outcome !== "in_flight" ? record : undefined;
  });
}

export function debitOf(record: RequestRecord): bigint {
  return record.attempts.reduce((sum, each) => sum + each.debitMicroUsd, 0n);
}

/** The invariants of the books that do not hold: none, at any moment. */
export async function brokenBooks(gateway: HasBooks): Promise<readonly string[]> {
  const checks = await gateway.backend.audit();
  // An audit that checks nothing finds nothing.
  if (checks.length === 0) throw new Error("the audit has no checks");
  return checks.filter((check) => check.violations !== 0).map(({ id, title }) => `${id} ${title}`);
}

/** Sum of what left the wallet, from its ledger entries. */
export async function debitsOf(gateway: HasBooks, account: TestAccount): Promise<bigint> {
  const entries = await gateway.backend.creditStore.ledgerEntries(account.orgId);
  return entries
    .filter((entry) => entry.kind !== "grant")
    .reduce<bigint>((sum, entry) => sum - entry.amountMicroUsd, 0n);
}
