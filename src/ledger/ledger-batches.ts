import { assert, unreachable } from "../core/assert.ts";
import { microUsd } from "../core/money.ts";
import type { CloseVerdict, Membership, ReserveEntry } from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";
import { plainColumn, readPlainColumn, textColumn } from "../storage/column-text.ts";
import type { LaneConnection, LaneStatement } from "./lane-connection.ts";

const RESERVE_PARAMETERS = 15;
const CLOSE_PARAMETERS = 17;

const reserveStatement: LaneStatement = {
  name: "reserve_batch",
  text: `select n, code, a, b, c, reset_ms from reserve_batch(${marks(RESERVE_PARAMETERS)})`,
};
const rollStatement: LaneStatement = {
  name: "roll_batch",
  text: `select n, code, a, b, c, reset_ms from roll_batch(${marks(
    RESERVE_PARAMETERS + CLOSE_PARAMETERS,
  )})`,
};
const closeStatement: LaneStatement = {
  name: "close_batch",
  text: `select row_at, codes, debited, over from close_batch(${marks(CLOSE_PARAMETERS)})`,
};

/** Holds and journals a batch; the closings of its rolls come first, in the same transaction. */
export async function runReserveBatch(
  lane: LaneConnection,
  member: Membership,
  entries: readonly ReserveEntry[],
): Promise<readonly ReserveOutcome[]> {
  const values = reserveValues(
    member,
    entries.map((entry) => entry.row),
  );
  const closings = entries.flatMap((entry) => (entry.close === null ? [] : [entry.close]));
  const refusals =
    closings.length === 0
      ? await lane.run(reserveStatement, values)
      : await lane.run(rollStatement, [...values, ...closeValues(closings)]);
  const outcomes: ReserveOutcome[] = entries.map(() => RESERVED);
  for (const row of refusals) outcomes[Number(row[0]) - 1] = refusalOf(row);
  return outcomes;
}

/** Closes a batch; one verdict per row, in its order. */
export async function runCloseBatch(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const [answer] = await lane.run(closeStatement, closeValues(rows));
  assert(answer !== undefined, "close_batch answers one row");
  const [at, codes, debits, overruns] = answer.map(readPlainColumn);
  assert(at?.length === rows.length, "close_batch answers every closing");
  const verdicts = Array.from<CloseVerdict>({ length: rows.length });
  at.forEach((n, i) => {
    verdicts[Number(n) - 1] = {
      kind: closeKind(codes?.[i]),
      debitMicroUsd: BigInt(debits?.[i] ?? 0),
      overrunMicroUsd: BigInt(overruns?.[i] ?? 0),
    };
  });
  return verdicts;
}

const RESERVED: ReserveOutcome = { kind: "reserved" };

function reserveValues(member: Membership, rows: readonly ReserveRow[]): string[] {
  return [
    member.instanceId,
    String(member.epoch),
    plainColumn(rows, (row) => row.attemptId),
    plainColumn(rows, (row) => row.requestId),
    plainColumn(rows, (row) => row.ordinal),
    plainColumn(rows, (row) => row.orgId),
    plainColumn(rows, (row) => row.keyId),
    textColumn(rows, (row) => row.modelId),
    textColumn(rows, (row) => row.providerId),
    textColumn(rows, (row) => row.upstreamModelId),
    plainColumn(rows, (row) => row.pricePinId),
    plainColumn(rows, (row) => row.route),
    plainColumn(rows, (row) => row.stream),
    plainColumn(rows, (row) => row.estimatedTokens),
    plainColumn(rows, (row) => row.reserveMicroUsd),
  ];
}

/** The columns that `close_batch` takes. */
export function closeValues(rows: readonly CloseRow[]): string[] {
  return [
    plainColumn(rows, (row) => row.attemptId),
    plainColumn(rows, (row) => row.outcome),
    plainColumn(rows, (row) => row.basis),
    plainColumn(rows, (row) => row.usage?.prompt ?? null),
    plainColumn(rows, (row) => row.usage?.cachedPrompt ?? null),
    plainColumn(rows, (row) => row.usage?.cacheWrite ?? null),
    plainColumn(rows, (row) => row.usage?.completion ?? null),
    plainColumn(rows, (row) => row.usage?.internalReasoning ?? null),
    plainColumn(rows, (row) => row.costPicoUsd),
    plainColumn(rows, (row) => row.upstreamStatus),
    plainColumn(rows, (row) => row.errorClass),
    plainColumn(rows, (row) => Math.round(row.startedAtMs)),
    plainColumn(rows, (row) => (row.firstByteMs === null ? null : Math.round(row.firstByteMs))),
    plainColumn(rows, (row) => Math.round(row.durationMs)),
    plainColumn(rows, (row) => row.final),
    textColumn(rows, (row) => row.served?.name ?? null),
    plainColumn(rows, (row) => row.served?.isSubstituted ?? null),
  ];
}

function refusalOf(row: readonly string[]): ReserveOutcome {
  const [, code, a = "0", b = "0", c = "0", resetMs] = row;
  switch (code) {
    case "1":
      return {
        kind: "low_balance",
        availableMicroUsd: microUsd(BigInt(a)),
        heldMicroUsd: microUsd(BigInt(b)),
      };
    case "2":
    case "3":
      return {
        kind: "cap",
        scope: code === "2" ? "org" : "key",
        capMicroUsd: microUsd(BigInt(a)),
        settledMicroUsd: microUsd(BigInt(b)),
        inFlightMicroUsd: microUsd(BigInt(c)),
        resetAtMs: Number(resetMs),
      };
    case "4":
      return { kind: "unavailable", reason: "the ledger knows no such key of this organization" };
    case undefined:
    default:
      assert(code === "9", "reserve_batch answers a known code");
      return { kind: "unavailable", reason: "fenced" };
  }
}

function closeKind(code: string | undefined): CloseVerdict["kind"] {
  switch (code) {
    case "1":
      return "closed";
    case "2":
      return "already_closed";
    case "3":
      return "unknown";
    case "4":
      return "corrected";
    case undefined:
    default:
      return unreachable(code as never);
  }
}

function marks(count: number): string {
  return Array.from({ length: count }, (_, i) => `$${i + 1}`).join(", ");
}
