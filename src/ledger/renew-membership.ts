import type { Pool } from "pg";

import { assert, AssertionFault, queryInTime } from "../kernel/index.ts";
import type { LedgerBatchStore, Renewal } from "./ledger-batch-store.ts";

interface RenewalRow {
  readonly verdict: Renewal["kind"];
  readonly finding: string | null;
  readonly beat: bigint | null;
  readonly now: Date;
}

/** Prolongs a lease; in the same transaction it is asked whether the books went back. */
export async function renewMembership(
  pool: Pool,
  renewal: Parameters<LedgerBatchStore["renewLease"]>[0],
): Promise<Renewal> {
  const { member, witness, leaseMs, goesOn } = renewal;
  const { rows } = await queryInTime<RenewalRow>(pool, {
    text: RENEW_SQL,
    values: [
      member.instanceId,
      String(member.epoch),
      member.token,
      String(witness.beat),
      new Date(witness.storeNowMs),
      witness.attemptId === null ? null : String(witness.attemptId),
      member.life,
      leaseMs,
      goesOn,
    ],
  });
  const row = rows[0];
  assert(row !== undefined, "a renewal answers one row");
  switch (row.verdict) {
    case "held":
      assert(row.beat !== null, "a lease that is held was prolonged");
      return { kind: "held", beat: row.beat, storeNowMs: row.now.getTime() };
    case "taken_over":
      return { kind: "taken_over" };
    case "went_back":
    case "stopped":
      return { kind: row.verdict, finding: row.finding ?? "" };
    default:
      throw new AssertionFault(`a renewal answers no ${String(row.verdict)}`);
  }
}

/** What an instance noticed, while the books have not been reopened since. */
export async function stopReason(pool: Pool): Promise<string | undefined> {
  const { rows } = await queryInTime<{ finding: string }>(pool, { text: STOP_REASON_SQL });
  return rows[0]?.finding;
}

const RENEW_SQL = `
  select verdict, finding, beat, now
  from renew_membership($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

const STOP_REASON_SQL = `
  select concat(instance_id, ': ', finding) as finding from books_alarm
  where ended_in_life is null`;
