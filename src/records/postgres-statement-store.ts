import type { Pool, PoolClient } from "pg";

import {
  differencesOf,
  hashOfDocument,
  type Month,
  monthAfter,
  monthOf,
  spanOfMonth,
  type Statement,
  type StatementDocument,
  statementDocument,
  statementNumber,
  type StatementState,
  type StatementStore,
  type StatementSummary,
} from "../billing/index.ts";
import {
  formatUsd,
  microUsd,
  type MicroUsd,
  type OrgId,
  STATEMENT_DELAY_MS,
} from "../core/index.ts";
import { readStatement } from "./read-statement.ts";
import type { ReportSources } from "./report-sources.ts";
import { LEFT_SINCE_SQL } from "./statement-sql.ts";

/** So many months are closed by one call. */
const CLOSED_PER_CALL = 24;

/** Statements in PostgreSQL. */
export class PostgresStatementStore implements StatementStore {
  readonly #pool: Pool;
  readonly #sources: Pick<ReportSources, "runNow">;

  constructor(pool: Pool, sources: Pick<ReportSources, "runNow">) {
    this.#pool = pool;
    this.#sources = sources;
  }

  async list(orgId: OrgId): Promise<readonly StatementSummary[] | undefined> {
    const months = await this.#months(orgId);
    if (months === undefined) return undefined;
    const kept = new Map((await this.#kept(orgId)).map((row) => [row.month, row]));
    const newestFirst = months.all.toReversed();
    return newestFirst.map((month) => {
      const row = kept.get(month);
      return {
        month,
        state: row === undefined ? stateAt(month, months.nowMs) : "closed",
        number: row === undefined ? null : statementNumber(month, row.number),
        openingUsd: row === undefined ? null : formatUsd(microUsd(row.opening)),
        closingUsd: row === undefined ? null : formatUsd(microUsd(row.closing)),
        closedAtMs: row === undefined ? null : Number(row.closed_ms),
      };
    });
  }

  async read(orgId: OrgId, month: Month): Promise<Statement | "unknown" | "later"> {
    const months = await this.#months(orgId);
    if (months === undefined || !months.all.includes(month)) return "unknown";
    let kept = await this.#kept(orgId);
    const isDue = (each: Month): boolean => each <= month && isOver(each, months.nowMs);
    const due = months.all.filter((each) => isDue(each) && !kept.some((row) => row.month === each));
    for (const each of due.slice(0, CLOSED_PER_CALL)) {
      await this.#close(orgId, each);
      kept = await this.#kept(orgId);
    }
    if (due.length > CLOSED_PER_CALL) return "later";
    const own = kept.find((row) => row.month === month);
    const opening = openingOf(kept, month);
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

  /** Closes one month; of two processes that do, the first one's statement stays. */
  async #close(orgId: OrgId, month: Month): Promise<void> {
    const opening = openingOf(await this.#kept(orgId), month);
    const figures = await this.#sources.runNow((client) =>
      readStatement(client, orgId, month, opening),
    );
    const document = JSON.stringify(statementDocument(figures));
    await this.#pool.query(CLOSE_SQL, [
      orgId,
      `${month}-01`,
      figures.openingMicroUsd,
      figures.closingMicroUsd,
      document,
      Buffer.from(hashOfDocument(document), "hex"),
    ]);
  }

  /** Oldest first, up to the running one. */
  async #months(
    orgId: OrgId,
  ): Promise<{ readonly all: readonly Month[]; readonly nowMs: number } | undefined> {
    const { rows } = await this.#pool.query<{ created_ms: bigint; now_ms: bigint }>(MONTHS_SQL, [
      orgId,
    ]);
    const [row] = rows;
    if (row === undefined) return undefined;
    const nowMs = Number(row.now_ms);
    const all: Month[] = [];
    const last = monthOf(nowMs);
    for (let month = monthOf(Number(row.created_ms)); month <= last; month = monthAfter(month)) {
      all.push(month);
    }
    return { all, nowMs };
  }

  async #kept(orgId: OrgId): Promise<readonly KeptRow[]> {
    return (await this.#pool.query<KeptRow>(KEPT_SQL, [orgId])).rows;
  }
}

const UNCHECKED = { sha256: null, differences: [], hasLeft: false } as const;

interface KeptRow {
  readonly month: Month;
  readonly number: bigint;
  readonly opening: bigint;
  readonly closing: bigint;
  readonly closed_ms: bigint;
  readonly sha256: string;
}

const KEPT_SQL = `
  select to_char(month, 'YYYY-MM') as month, number, opening, closing,
    floor(extract(epoch from closed_at) * 1000)::bigint as closed_ms,
    encode(sha256, 'hex') as sha256
  from org_statement where org_id = $1 order by month`;

const MONTHS_SQL = `
  select floor(extract(epoch from created_at) * 1000)::bigint as created_ms,
    floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
  from org where org_id = $1`;

const CLOSE_SQL = `
  insert into org_statement (org_id, month, opening, closing, document, sha256)
  values ($1, $2, $3, $4, $5, $6) on conflict do nothing`;

const DOCUMENT_SQL = "select document from org_statement where org_id = $1 and month = $2";

function isOver(month: Month, nowMs: number): boolean {
  return nowMs >= spanOfMonth(month).toMs + STATEMENT_DELAY_MS;
}

function stateAt(month: Month, nowMs: number): StatementState {
  if (nowMs < spanOfMonth(month).toMs) return "so_far";
  return isOver(month, nowMs) ? "due" : "closing";
}

/** The end of the statement of the month before; undefined: there is none. */
function openingOf(kept: readonly KeptRow[], month: Month): MicroUsd | undefined {
  const before = kept.find((row) => monthAfter(row.month) === month);
  return before === undefined ? undefined : microUsd(before.closing);
}

/** Is the kept text the one that was closed, and do the books still say what it says? */
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
  const differences = [...differencesOf(document, now, { isUsageThere: !hasLeft })];
  if (hashOfDocument(text) !== own.sha256) {
    differences.push("the text of the statement is not the one that was closed: its hash differs");
  }
  return { document, sha256: own.sha256, differences, hasLeft };
}
