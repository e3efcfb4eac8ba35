import { assert, microUsd, unreachable } from "../core/index.ts";
import { batchValues, marks, readPlainColumn } from "../storage/index.ts";
import { closeColumns, holdColumns } from "./attempt-columns.ts";
import type { LaneConnection, LaneStatement } from "./lane-connection.ts";
import type { CloseVerdict, Membership, ReserveEntry } from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";

/** The instance and its epoch, and the columns of a hold. */
const RESERVE_PARAMETERS = 2 + holdColumns.cells.length;
const CLOSE_PARAMETERS = closeColumns.cells.length;

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
      : await lane.run(rollStatement, [...values, ...batchValues(closeColumns, closings)]);
  const outcomes: ReserveOutcome[] = entries.map(() => RESERVED);
  for (const row of refusals) outcomes[Number(row[0]) - 1] = refusalOf(row);
  return outcomes;
}

/** Closes a batch; one verdict per row, in its order. */
export async function runCloseBatch(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const [answer] = await lane.run(closeStatement, batchValues(closeColumns, rows));
  assert(answer !== undefined, "close_batch answers one row");
  const [at, codes, debits, overruns] = answer.map(readPlainColumn);
  assert(at?.length === rows.length, "close_batch answers every closing");
  const verdicts = Array.from<CloseVerdict>({ length: rows.length });
  at.forEach((n, i) => {
    verdicts[Number(n) - 1] = {
      kind: CLOSE_KINDS[knownCode(CLOSE_CODES, codes?.[i])],
      debitMicroUsd: BigInt(debits?.[i] ?? 0),
      overrunMicroUsd: BigInt(overruns?.[i] ?? 0),
    };
  });
  return verdicts;
}

const RESERVED: ReserveOutcome = { kind: "reserved" };

function reserveValues(member: Membership, rows: readonly ReserveRow[]): string[] {
  return [member.instanceId, String(member.epoch), ...batchValues(holdColumns, rows)];
}

/** What `reserve_batch` answers for a row that it does not reserve. */
const REFUSAL_CODES = ["1", "2", "3", "4", "9"] as const;

function refusalOf(row: readonly string[]): ReserveOutcome {
  const [, text, a = "0", b = "0", c = "0", resetMs] = row;
  const code = knownCode(REFUSAL_CODES, text);
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
    case "9":
      return { kind: "unavailable", reason: "fenced" };
    default:
      return unreachable(code);
  }
}

/** What `close_batch` answers for a row. */
const CLOSE_CODES = ["1", "2", "3", "4"] as const;

const CLOSE_KINDS: Readonly<Record<(typeof CLOSE_CODES)[number], CloseVerdict["kind"]>> = {
  1: "closed",
  2: "already_closed",
  3: "unknown",
  4: "corrected",
};

function knownCode<C extends string>(codes: readonly C[], text: string | undefined): C {
  const code = codes.find((each) => each === text);
  assert(code !== undefined, `a batch answers a known code, not ${text}`);
  return code;
}
