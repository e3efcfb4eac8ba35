import type { Pool, PoolClient } from "pg";

import type { OrgId, Public } from "../../kernel/index.ts";
import type { ReportSources } from "../../gateway/index.ts";
import type { StatementDocument } from "../console-api/contract/statements.ts";
import { readStatement } from "./read-statement.ts";
import {
  findDifferences,
  hashOfDocument,
  isOver,
  type KeptRow,
  findOpening,
  statementDocument,
  StatementKeeping,
  statementNumber,
} from "./statement-keeping.ts";
import { LEFT_SINCE_SQL } from "./statement-sql.ts";
import {
  type Month,
  spanOfMonth,
  type Statement,
  type StatementState,
  type StatementSummary,
} from "./statements.ts";

const CLOSED_PER_CALL = 24;

export class PostgresStatementStore {
  readonly #sources: Pick<ReportSources, "runNow">;
  readonly #keeping: StatementKeeping;

  constructor(pool: Pool, sources: Pick<ReportSources, "runNow">) {
    this.#sources = sources;
    this.#keeping = new StatementKeeping(pool, sources);
  }

  /** Lists all months up to the current one, newest first; undefined: no such organization. */
  async list(orgId: OrgId): Promise<readonly StatementSummary[] | undefined> {
    const months = await this.#keeping.months(orgId);
    if (months === undefined) return undefined;
    const kept = new Map((await this.#keeping.kept(orgId)).map((row) => [row.month, row]));
    const newestFirst = months.all.toReversed();
    return newestFirst.map((month) => {
      const row = kept.get(month);
      return {
        month,
        state: row === undefined ? stateAt(month, months.nowMs) : "closed",
        number: row === undefined ? null : statementNumber(month, row.number),
        openingMicroUsd: row?.opening ?? null,
        closingMicroUsd: row?.closing ?? null,
        closedAtMs: row === undefined ? null : Number(row.closed_ms),
      };
    });
  }

  /**
   * Reads the statement of one month. First closes this and earlier months that are over, in order.
   * `unknown`: the organization has no such month; `later`: one call cannot close all earlier
   * months, so call again.
   */
  async read(orgId: OrgId, month: Month): Promise<Statement | "unknown" | "later"> {
    const months = await this.#keeping.months(orgId);
    if (months === undefined || !months.all.includes(month)) return "unknown";
    const upTo = { through: month, max: CLOSED_PER_CALL };
    if (!(await this.#keeping.closeDue(orgId, months, upTo))) return "later";
    const kept = await this.#keeping.kept(orgId);
    const own = kept.find((row) => row.month === month);
    const opening = findOpening(kept, month);
    const state = own === undefined ? stateAt(month, months.nowMs) : "closed";
    return await this.#sources.runNow(async (client) => {
      const figures = await readStatement(client, orgId, month, opening);
      const now = statementDocument(figures);
      if (own === undefined) {
        return { document: now, state, number: null, closedAtMs: null, ...UNCHECKED };
      }
      const { document, sha256, ...checked } = await checkKept(client, { orgId, own, now });
      const number = statementNumber(month, own.number);
      return { document, state, number, closedAtMs: Number(own.closed_ms), sha256, ...checked };
    });
  }
}

export type StatementStore = Public<PostgresStatementStore>;

const UNCHECKED = { sha256: null, differences: [], hasLeft: false } as const;

const DOCUMENT_SQL = "select document from org_statement where org_id = $1 and month = $2";

function stateAt(month: Month, nowMs: number): StatementState {
  if (nowMs < spanOfMonth(month).toMs) return "so_far";
  return isOver(month, nowMs) ? "due" : "closing";
}

/** Reads a stored statement, and reports how it differs from its hash and from the ledger. */
async function checkKept(
  client: PoolClient,
  of: { readonly orgId: OrgId; readonly own: KeptRow; readonly now: StatementDocument },
): Promise<Pick<Statement, "document" | "sha256" | "differences" | "hasLeft">> {
  const { orgId, own, now } = of;
  const { toMs } = spanOfMonth(own.month);
  const found = await client.query<{ document: string }>(DOCUMENT_SQL, [orgId, `${own.month}-01`]);
  const text = found.rows[0]?.document ?? "";
  const document = JSON.parse(text) as StatementDocument;
  const since = [orgId, new Date(Number(own.closed_ms)), new Date(toMs)];
  const left = await client.query<{ has_left: boolean }>(LEFT_SINCE_SQL, since);
  const hasLeft = left.rows[0]?.has_left === true;
  const differences = [...findDifferences(document, now, { isUsageThere: !hasLeft })];
  if (hashOfDocument(text) !== own.sha256) {
    differences.push("the text of the statement is not the one that was closed: its hash differs");
  }
  return { document, sha256: own.sha256, differences, hasLeft };
}
