import type { PoolClient } from "pg";

import type { Change } from "../../changes/index.ts";
import { assert, type CsvRow, formatUsd, microUsd } from "../../core/index.ts";
import { RECORD_AUDIT_SQL } from "../books-figures.ts";
import * as sql from "./fold-sql.ts";
import {
  type DayMoved,
  type FoldedPart,
  type FoldSession,
  pairName,
  type PairSum,
  type Part,
  type PartSurvey,
} from "./fold.ts";
import {
  type ChangeNotes,
  changing,
  inTransaction,
  longReaderSql,
  rowsAsText,
  whenFree,
} from "./retention-transactions.ts";

const PAGE_ROWS = 2_000;

/** What a session exports: the schema and the columns of its table. */
export interface ExportedTable {
  readonly schema: string;
  readonly columns: readonly string[];
}

/** Folds months of transfers in PostgreSQL, on the connection of one run. */
export class PostgresFoldSession implements FoldSession {
  readonly schema: string;
  readonly columns: readonly string[];
  readonly #client: PoolClient;
  readonly #changes: ChangeNotes;

  constructor(client: PoolClient, changes: ChangeNotes, of: ExportedTable) {
    this.#client = client;
    this.#changes = changes;
    this.schema = of.schema;
    this.columns = of.columns;
  }

  async partsOlderThan(months: number): Promise<readonly Part[]> {
    const { rows } = await this.#client.query<{ part: Part }>(sql.PARTS_OLDER_THAN_SQL, [months]);
    return rows.map(({ part }) => part);
  }

  async survey(part: Part): Promise<PartSurvey | undefined> {
    const { rows: heads } = await this.#client.query<HeadRow>(sql.headSql(part));
    const [head] = heads;
    assert(head !== undefined, "a month that is surveyed has a table");
    const { from_position: fromPosition, to_position: toPosition } = head;
    if (fromPosition === null || toPosition === null) return undefined;
    const { rows: pairs } = await this.#client.query<PairRow>(sql.pairsSql(part));
    const { rows: days } = await this.#client.query<DayRow>(sql.surveyDaysSql(part));
    return {
      part,
      fromPosition,
      toPosition,
      kept: head.kept,
      isOver: head.is_over,
      hasEarlierAttempts: head.has_earlier,
      isClosed: head.is_closed,
      unretiredDays: days.filter((day) => !day.is_retired).map(({ day }) => day),
      sums: {
        transfers: pairs.reduce((sum, { transfers }) => sum + transfers, 0n),
        amountMicroUsd: microUsd(pairs.reduce((sum, { amount }) => sum + amount, 0n)),
        pairs: new Map(pairs.map((row) => [pairName(pairOf(row)), pairOf(row)])),
        days: new Map(days.map((row) => [row.day, dayOf(row)])),
      },
    };
  }

  async freeze(part: Part): Promise<void> {
    if (await this.#isFrozen(part)) return;
    await inTransaction(this.#client, () => this.#whenFree(part, [sql.freezePartSql(part)]));
  }

  async unfreeze(part: Part): Promise<void> {
    if (!(await this.#isFrozen(part))) return;
    await inTransaction(this.#client, () => this.#whenFree(part, [sql.unfreezePartSql(part)]));
  }

  async *pages(part: Part): AsyncGenerator<readonly CsvRow[]> {
    const idAt = this.columns.indexOf("transfer_id");
    const text = sql.foldPageSql(part, this.columns);
    for (let last: string | null = "-1"; last !== null;) {
      const rows: CsvRow[] = await rowsAsText(this.#client, text, [last, PAGE_ROWS]);
      if (rows.length > 0) yield rows;
      last = rows.length < PAGE_ROWS ? null : (rows.at(-1)?.[idAt] ?? null);
    }
  }

  async fold(folded: FoldedPart): Promise<readonly string[]> {
    const { part, sums } = folded.survey;
    const after = {
      transfers: sums.transfers.toString(),
      amount_usd: formatUsd(sums.amountMicroUsd),
      sha256: folded.sha256.toString("hex"),
    };
    const change: Change = {
      action: "ledger.fold",
      orgId: null,
      target: part,
      before: null,
      after,
    };
    try {
      await changing(this.#client, this.#changes, change, () => this.#foldInTransaction(folded));
      return [];
    } catch (fault) {
      if (fault instanceof Differing) return fault.differences;
      throw fault;
    }
  }

  async detachedParts(): Promise<readonly { readonly part: Part; readonly sha256: Buffer }[]> {
    const text = sql.DETACHED_PARTS_SQL;
    return (await this.#client.query<{ part: Part; sha256: Buffer }>(text)).rows;
  }

  async drop(part: Part): Promise<void> {
    const change: Change = {
      action: "ledger.drop",
      orgId: null,
      target: part,
      before: { in_database: true },
      after: { in_database: false },
    };
    await changing(this.#client, this.#changes, change, async () => {
      await this.#client.query(`drop table retired.${sql.partTable(part)}`);
    });
  }

  async alarm(violations: number): Promise<void> {
    await this.#client.query(RECORD_AUDIT_SQL, [violations]);
  }

  async close(): Promise<void> {
    await this.#client.query("select pg_advisory_unlock_all()").catch(() => undefined);
    // Closed, not released: its settings go with it.
    this.#client.release(true);
  }

  async #foldInTransaction({ survey, file, sha256, signature }: FoldedPart): Promise<void> {
    const { part, fromPosition, toPosition, sums } = survey;
    const { rows: bounds } = await this.#client.query<sql.PartBounds>(sql.BOUNDS_OF_PART_SQL, [
      sql.partTable(part),
    ]);
    const [of] = bounds;
    assert(of !== undefined, "a month has a table");
    await this.#client.query(sql.FOLDED_MONTH_SQL, [
      part,
      fromPosition,
      toPosition,
      sums.transfers,
      sums.amountMicroUsd,
      file,
      sha256,
      signature,
    ]);
    for (const text of sql.foldedSumsSql(part)) await this.#client.query(text);
    for (const text of sql.keptSql(part, of)) await this.#client.query(text);
    const { rows } = await this.#client.query<{ difference: string }>(sql.differencesSql(part));
    if (rows.length > 0) throw new Differing(rows.map(({ difference }) => difference));
    await this.#client.query("create schema if not exists retired");
    // Last, and then the commit at once: every batch waits while this lock is held.
    await this.#whenFree(part, sql.swapSql(part, of));
  }

  async #isFrozen(part: Part): Promise<boolean> {
    const { rows } = await this.#client.query<{ is_frozen: boolean }>(sql.IS_PART_FROZEN_SQL, [
      sql.partTable(part),
    ]);
    return rows[0]?.is_frozen === true;
  }

  async #whenFree(part: Part, statements: readonly string[]): Promise<void> {
    await whenFree(this.#client, longReaderSql(["transfer", sql.partTable(part)]), statements);
  }
}

/** The sums are not the month: rolled back. */
class Differing extends Error {
  readonly differences: readonly string[];

  constructor(differences: readonly string[]) {
    super(differences.join("; "));
    this.differences = differences;
  }
}

interface HeadRow {
  readonly from_position: bigint | null;
  readonly to_position: bigint | null;
  readonly kept: bigint;
  readonly is_over: boolean;
  readonly has_earlier: boolean;
  readonly is_closed: boolean;
}

interface PairRow {
  readonly kind: string;
  readonly debit_account: string;
  readonly credit_account: string;
  readonly transfers: bigint;
  readonly amount: bigint;
}

interface DayRow {
  readonly day: string;
  readonly settled: bigint;
  readonly refunded: bigint;
  readonly overrun: bigint;
  readonly margin: bigint;
  readonly is_retired: boolean;
}

function pairOf(row: PairRow): PairSum {
  return {
    kind: row.kind,
    debitAccount: row.debit_account,
    creditAccount: row.credit_account,
    transfers: row.transfers,
    amountMicroUsd: microUsd(row.amount),
  };
}

function dayOf(row: DayRow): DayMoved {
  return {
    settledMicroUsd: microUsd(row.settled),
    refundedMicroUsd: microUsd(row.refunded),
    overrunMicroUsd: microUsd(row.overrun),
    marginMicroUsd: microUsd(row.margin),
  };
}
