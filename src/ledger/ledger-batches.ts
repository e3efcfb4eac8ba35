import { assert, microUsd, unreachable } from "../core/index.ts";
import { batchValues, marks, readPlainColumn } from "../storage/index.ts";
import { closeColumns, holdColumns } from "./attempt-columns.ts";
import type { LaneConnection, LaneStatement } from "./lane-connection.ts";
import type { CloseVerdict, Membership, ReserveEntry } from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";

/** The instance and its epoch, the columns of a closing and those of a hold. */
const HOLD_PARAMETERS = holdColumns.cells.length;
const CLOSE_PARAMETERS = closeColumns.cells.length;

const batchStatement: LaneStatement = {
  name: "ledger_batch",
  text: `select closed_row, closed_code, debited, over, refused_row, refused_code, a, b, c, reset_ms
    from ledger_batch(${marks(2 + CLOSE_PARAMETERS + HOLD_PARAMETERS)})`,
};
const lateStatement: LaneStatement = {
  name: "late_closings",
  text: `select closed_row, closed_code, debited, over from late_closings(${marks(CLOSE_PARAMETERS)})`,
};

/** Holds and journals a batch; the closings of its rolls come first, in the same transaction. */
export async function runReserveBatch(
  lane: LaneConnection,
  member: Membership,
  entries: readonly ReserveEntry[],
): Promise<readonly ReserveOutcome[]> {
  const closings = entries.flatMap((entry) => (entry.close === null ? [] : [entry.close]));
  const holds = entries.map((entry) => entry.row);
  const answer = await runBatch(lane, member, closings, holds);
  const outcomes: ReserveOutcome[] = holds.map(() => RESERVED);
  const { refused_row: rows, refused_code: codes, a, b, c } = answer.columns;
  rows.forEach((n, i) => {
    outcomes[Number(n) - 1] = refusalOf([codes[i], a[i], b[i], c[i]], answer.resetMs);
  });
  const late = closings.filter((_, i) => answer.verdicts[i] === undefined);
  if (late.length > 0) await runLateClosings(lane, late);
  return outcomes;
}

/** Closes a batch; one verdict per row, in its order. */
export async function runCloseBatch(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const { verdicts } = await runBatch(lane, { instanceId: "", epoch: 0n }, rows, []);
  const late = rows.filter((_, i) => verdicts[i] === undefined);
  if (late.length === 0) return verdicts as CloseVerdict[];
  const decided = await runLateClosings(lane, late);
  let next = 0;
  return verdicts.map((verdict) => verdict ?? (decided[next++] as CloseVerdict));
}

const NAMES = [
  "closed_row",
  "closed_code",
  "debited",
  "over",
  "refused_row",
  "refused_code",
  "a",
  "b",
  "c",
] as const;

interface BatchAnswer {
  readonly columns: Readonly<Record<(typeof NAMES)[number], readonly string[]>>;
  readonly verdicts: readonly (CloseVerdict | undefined)[];
  readonly resetMs: string | undefined;
}

async function runBatch(
  lane: LaneConnection,
  member: Pick<Membership, "instanceId" | "epoch">,
  closings: readonly CloseRow[],
  holds: readonly ReserveRow[],
): Promise<BatchAnswer> {
  const [answer] = await lane.run(batchStatement, [
    member.instanceId,
    String(member.epoch),
    ...batchValues(closeColumns, closings),
    ...batchValues(holdColumns, holds),
  ]);
  assert(answer !== undefined, "ledger_batch answers one row");
  const texts = answer as readonly (string | null)[];
  const columns = Object.fromEntries(
    NAMES.map((name, i) => [name, texts[i] == null ? [] : readPlainColumn(texts[i])]),
  ) as unknown as BatchAnswer["columns"];
  return {
    columns,
    verdicts: verdictsOf(columns, closings.length),
    resetMs: texts[9] ?? undefined,
  };
}

async function runLateClosings(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const [answer] = await lane.run(lateStatement, batchValues(closeColumns, rows));
  assert(answer !== undefined, "late_closings answers one row");
  const [closed_row = [], closed_code = [], debited = [], over = []] = answer.map(readPlainColumn);
  return verdictsOf({ closed_row, closed_code, debited, over }, rows.length) as CloseVerdict[];
}

function verdictsOf(
  columns: Pick<BatchAnswer["columns"], "closed_row" | "closed_code" | "debited" | "over">,
  rows: number,
): (CloseVerdict | undefined)[] {
  const verdicts = Array.from<CloseVerdict | undefined>({ length: rows });
  assert(columns.closed_row.length === rows, "a batch answers every closing");
  columns.closed_row.forEach((n, i) => {
    if (columns.closed_code[i] === "0") return;
    verdicts[Number(n) - 1] = {
      kind: CLOSE_KINDS[knownCode(CLOSE_CODES, columns.closed_code[i])],
      debitMicroUsd: BigInt(columns.debited[i] ?? 0),
      overrunMicroUsd: BigInt(columns.over[i] ?? 0),
    };
  });
  return verdicts;
}

const RESERVED: ReserveOutcome = { kind: "reserved" };

/** What `reserve_batch` answers for a row that it does not reserve. */
const REFUSAL_CODES = ["1", "2", "3", "4", "9"] as const;

function refusalOf(
  row: readonly (string | undefined)[],
  resetMs: string | undefined,
): ReserveOutcome {
  const [text, a = "0", b = "0", c = "0"] = row;
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
