import { setTimeout as sleep } from "node:timers/promises";

import { parseRequestId } from "../../src/kernel/core/ids.ts";
import type { RequestRecord } from "../../src/gateway/records/record-rows.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { TestAccount } from "./gateway.ts";

const POLL_MS = 10;
const CALL_EVERY_MS = 100;
/** Longer than anything takes, but shorter than a test, so that a failure names what is missing. */
const UNTIL_MS = 90_000;

/** Leaves out annulled attempts, whose rows stay for an hour but hold nothing. */
export const OPEN_HOLDS_SQL = `
  select row_to_json(h)::text as hold, now()::text as at from hold h where not annulled`;

interface HasBooks {
  readonly backend: PostgresBackend;
}

/** Repeats `read` until it returns a value. Give `waitMs` only to prove a shorter time. */
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

/** Repeats a call after a 503: on a busy machine, a hold may wait longer than the ledger allows. */
export async function untilTaken<Answer extends { readonly status: number }>(
  call: () => Promise<Answer>,
): Promise<Answer> {
  return await callUntil("the hold is placed in time", call, ({ status }) => status !== 503);
}

/** Repeats a call until its answer is as wanted: a changed rule takes effect with a delay. */
export async function callUntil<Answer extends { readonly status: number }>(
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

export function nothingHeld(gateway: HasBooks, account: TestAccount): Promise<true> {
  return until("nothing is held", async () => {
    const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
    return heldMicroUsd === 0n;
  });
}

export async function ended(gateway: HasBooks, account: TestAccount, requestId: string) {
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

/** Returns the audit checks that fail. At no moment may any of them fail. */
export async function brokenBooks(gateway: HasBooks): Promise<readonly string[]> {
  const checks = await gateway.backend.audit();
  // An audit without checks would find nothing wrong.
  if (checks.length === 0) throw new Error("the audit has no checks");
  return checks.filter((check) => check.violations !== 0).map(({ id, title }) => `${id} ${title}`);
}

export async function debitsOf(gateway: HasBooks, account: TestAccount): Promise<bigint> {
  const entries = await gateway.backend.creditStore.ledgerEntries(account.orgId);
  return entries
    .filter((entry) => entry.kind !== "grant")
    .reduce<bigint>((sum, entry) => sum - entry.amountMicroUsd, 0n);
}
