import {
  assert,
  type CapPeriod,
  microUsd,
  unreachable,
  batchValues,
  marks,
  readPlainColumn,
} from "../kernel/index.ts";
import { closeColumns, holdColumns } from "./attempt-columns.ts";
import type { LaneConnection, LaneStatement } from "./lane-connection.ts";
import type { BatchAnswer, CloseVerdict, LedgerBatch } from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome } from "./ledger-store.ts";

const CLOSE_PARAMETERS = closeColumns.cells.length;
const BATCH_PARAMETERS = 2 + CLOSE_PARAMETERS + holdColumns.cells.length;

const batchStatement: LaneStatement = {
  name: "ledger_batch",
  text: `select closed_row, closed_code, debited, over, refused_row, refused_code, a, b, c, period,
    period_reset_ms
    from ledger_batch(${marks(BATCH_PARAMETERS)})`,
};
const closeStatement: LaneStatement = {
  name: "close_batch",
  text: `select closed_row, closed_code, debited, over from close_batch(${marks(CLOSE_PARAMETERS)})`,
};

/** Closes, then holds: one transaction. */
export async function runBatch(lane: LaneConnection, batch: LedgerBatch): Promise<BatchAnswer> {
  const { member, closings, holds } = batch;
  const [answer] = await lane.run(batchStatement, [
    member.instanceId,
    String(member.epoch),
    ...batchValues(closeColumns, closings),
    ...batchValues(holdColumns, holds),
  ]);
  assert(answer !== undefined, "ledger_batch answers one row");
  return {
    verdicts: verdictsOf(answer, closings.length),
    outcomes: outcomesOf(answer, holds.length),
  };
}

/** Closes a batch; one verdict per row, in its order. */
export async function runCloseBatch(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const [answer] = await lane.run(closeStatement, batchValues(closeColumns, rows));
  assert(answer !== undefined, "close_batch answers one row");
  return verdictsOf(answer, rows.length).map((verdict) => {
    assert(verdict !== undefined, "close_batch decides every closing");
    return verdict;
  });
}

function verdictsOf(
  answer: readonly (string | null)[],
  rows: number,
): (CloseVerdict | undefined)[] {
  const [at = [], codes, debits, overruns] = answer.slice(0, 4).map(readPlainColumn);
  assert(at.length === rows, "a batch answers every closing");
  const verdicts = Array.from<CloseVerdict | undefined>({ length: rows });
  at.forEach((n, i) => {
    if (codes?.[i] === NOT_OPEN) return;
    verdicts[Number(n) - 1] = {
      kind: CLOSE_KINDS[knownCode(CLOSE_CODES, codes?.[i])],
      debitMicroUsd: BigInt(debits?.[i] ?? 0),
      overrunMicroUsd: BigInt(overruns?.[i] ?? 0),
    };
  });
  return verdicts;
}

/** Only the holds that were not taken are listed. */
function outcomesOf(answer: readonly (string | null)[], rows: number): ReserveOutcome[] {
  const outcomes: ReserveOutcome[] = Array.from({ length: rows }, () => RESERVED);
  const [at = [], codes, a, b, c, period, reset] = answer.slice(4, 11).map(readPlainColumn);
  at.forEach((n, i) => {
    const numbers = [a?.[i], b?.[i], c?.[i], period?.[i], reset?.[i]];
    outcomes[Number(n) - 1] = refusalOf(codes?.[i], numbers);
  });
  return outcomes;
}

const RESERVED: ReserveOutcome = { kind: "reserved" };

/** What `ledger_batch` answers for a hold that it does not take. */
const REFUSAL_CODES = ["1", "2", "3", "4", "9"] as const;

function refusalOf(
  text: string | undefined,
  [a = "0", b = "0", c = "0", period, resetMs]: readonly (string | undefined)[],
): ReserveOutcome {
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
        period: knownPeriod(period),
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

/** What `ledger_batch` answers for a closing that it leaves to `close_batch`. */
const NOT_OPEN = "0";
/** What `close_batch` answers for a row, and `ledger_batch` for those that it closes. */
const CLOSE_CODES = ["1", "2", "3", "4"] as const;

const CLOSE_KINDS: Readonly<Record<(typeof CLOSE_CODES)[number], CloseVerdict["kind"]>> = {
  1: "closed",
  2: "already_closed",
  3: "unknown",
  4: "corrected",
};

function knownPeriod(text: string | undefined): CapPeriod {
  assert(text === "day" || text === "week" || text === "month", "a cap is of a known period");
  return text;
}

function knownCode<C extends string>(codes: readonly C[], text: string | undefined): C {
  const code = codes.find((each) => each === text);
  assert(code !== undefined, `a batch answers a known code, not ${text}`);
  return code;
}
