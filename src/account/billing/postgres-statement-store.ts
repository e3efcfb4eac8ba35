import { hash } from "node:crypto";

import type { Pool, PoolClient } from "pg";

import {
  createRecordId,
  type MicroUsd,
  microUsd,
  type OrgId,
  type Public,
  STATEMENT_DELAY_MS,
} from "../../kernel/index.ts";
import type { ReportSources } from "../../gateway/index.ts";
import type { StatementDocument, UsageLine } from "../console-api/contract/statements.ts";
import { LEFT_SINCE_SQL, readStatement, type StatementFigures } from "./read-statement.ts";
import {
  type Month,
  monthAfter,
  spanOfMonth,
  type Statement,
  type StatementState,
  type StatementSummary,
  toMonth,
} from "./statements.ts";

const CLOSED_PER_CALL = 24;

export class PostgresStatementStore {
  readonly #pool: Pool;
  readonly #sources: Pick<ReportSources, "runNow">;

  constructor(pool: Pool, sources: Pick<ReportSources, "runNow">) {
    this.#pool = pool;
    this.#sources = sources;
  }

  /** Lists all months up to the current one, newest first; undefined: no such organization. */
  async list(orgId: OrgId): Promise<readonly StatementSummary[] | undefined> {
    const months = await this.months(orgId);
    if (months === undefined) return undefined;
    const kept = new Map((await this.kept(orgId)).map((row) => [row.month, row]));
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
   * First closes this month and earlier ones, if they are over. `unknown`: there is no such
   * month; `later`: one call cannot close all earlier months, so call again.
   */
  async read(orgId: OrgId, month: Month): Promise<Statement | "unknown" | "later"> {
    const months = await this.months(orgId);
    if (months === undefined || !months.all.includes(month)) return "unknown";
    const upTo = { through: month, max: CLOSED_PER_CALL };
    if (!(await this.closeDue(orgId, months, upTo))) return "later";
    const kept = await this.kept(orgId);
    const own = kept.find((row) => row.month === month);
    const opening = findOpening(kept, month);
    return await this.#sources.runNow(async (client): Promise<Statement> => {
      const { document } = await readStatement(client, orgId, month, opening);
      if (own !== undefined) return await checkKept(client, own, document);
      return { document, state: stateAt(month, months.nowMs), ...NOT_CLOSED };
    });
  }

  async months(orgId: OrgId): Promise<OrgMonths | undefined> {
    type Times = Readonly<Record<"created_ms" | "now_ms", bigint>>;
    const [row] = (await this.#pool.query<Times>(MONTHS_SQL, [orgId])).rows;
    if (row === undefined) return undefined;
    const nowMs = Number(row.now_ms);
    const all: Month[] = [];
    const last = toMonth(nowMs);
    for (let month = toMonth(Number(row.created_ms)); month <= last; month = monthAfter(month)) {
      all.push(month);
    }
    return { all, nowMs };
  }

  async kept(orgId: OrgId): Promise<readonly KeptRow[]> {
    return (await this.#pool.query<KeptRow>(KEPT_SQL, [orgId])).rows;
  }

  /** Closes due months up to `through`, oldest first, at most `max`; true if none is left. */
  async closeDue(
    orgId: OrgId,
    { all, nowMs }: OrgMonths,
    { through, max }: { readonly through: Month; readonly max: number },
  ): Promise<boolean> {
    const kept = await this.kept(orgId);
    const isDue = (each: Month): boolean => each <= through && isOver(each, nowMs);
    const due = all.filter((each) => isDue(each) && !kept.some(({ month }) => month === each));
    for (const month of due.slice(0, max)) {
      const figures = await this.figures(orgId, month);
      await this.#close(figures, { isNews: monthAfter(month) === toMonth(nowMs) });
    }
    return due.length <= max;
  }

  async figures(orgId: OrgId, month: Month): Promise<StatementFigures> {
    const opening = findOpening(await this.kept(orgId), month);
    return await this.#sources.runNow((client) => readStatement(client, orgId, month, opening));
  }

  /**
   * Changes nothing if the month's statement exists already. The alert `statement.ready`, if it is
   * due, is reported by the same SQL command, so that a crash cannot lose it.
   */
  async #close(figures: StatementFigures, { isNews }: { readonly isNews: boolean }): Promise<void> {
    const { openingMicroUsd, closingMicroUsd } = figures;
    const { org_id: orgId, month, usage_usd, closing_usd } = figures.document;
    const text = JSON.stringify(figures.document);
    const digest = hash("sha256", text, "buffer");
    const statement = [orgId, `${month}-01`, openingMicroUsd, closingMicroUsd, text, digest];
    const event = [createRecordId("evt"), JSON.stringify({ month, usage_usd, closing_usd })];
    await this.#pool.query(CLOSE_SQL, [...statement, ...event, isNews && hasMovement(figures)]);
  }
}

export type StatementStore = Public<PostgresStatementStore>;

const NOT_CLOSED = {
  number: null,
  closedAtMs: null,
  sha256: null,
  differences: [],
  hasLeft: false,
} as const;

const DOCUMENT_SQL = "select document from org_statement where org_id = $1 and month = $2";

function stateAt(month: Month, nowMs: number): StatementState {
  if (nowMs < spanOfMonth(month).toMs) return "so_far";
  return isOver(month, nowMs) ? "due" : "closing";
}

/** Reads a stored statement, and reports how it differs from its hash and from the ledger. */
async function checkKept(
  client: PoolClient,
  own: KeptRow,
  now: StatementDocument,
): Promise<Statement> {
  const { month } = own;
  const { org_id: orgId } = now;
  const found = await client.query<{ document: string }>(DOCUMENT_SQL, [orgId, `${month}-01`]);
  const text = found.rows[0]?.document ?? "";
  const document = JSON.parse(text) as StatementDocument;
  const closedAtMs = Number(own.closed_ms);
  const since = [orgId, new Date(closedAtMs), new Date(spanOfMonth(month).toMs)];
  const left = await client.query<{ has_left: boolean }>(LEFT_SINCE_SQL, since);
  const hasLeft = left.rows[0]?.has_left === true;
  const differences = [...findDifferences(document, now, { isUsageThere: !hasLeft })];
  if (hash("sha256", text) !== own.sha256) {
    differences.push("the text of the statement is not the one that was closed: its hash differs");
  }
  const kept = { closedAtMs, sha256: own.sha256, number: statementNumber(month, own.number) };
  return { document, state: "closed", ...kept, differences, hasLeft };
}

export interface KeptRow {
  readonly month: Month;
  readonly number: bigint;
  readonly opening: bigint;
  readonly closing: bigint;
  readonly closed_ms: bigint;
  readonly sha256: string;
}

/** An organization's months, oldest first, up to the current one. */
interface OrgMonths {
  readonly all: readonly Month[];
  readonly nowMs: number;
}

export function hasMovement({ document, usageMicroUsd }: StatementFigures): boolean {
  return document.credits.length > 0 || usageMicroUsd !== 0n || document.models.length > 0;
}

export function isOver(month: Month, nowMs: number): boolean {
  return nowMs >= spanOfMonth(month).toMs + STATEMENT_DELAY_MS;
}

function findOpening(kept: readonly KeptRow[], month: Month): MicroUsd | undefined {
  const before = kept.find((row) => monthAfter(row.month) === month);
  return before === undefined ? undefined : microUsd(before.closing);
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

/* $7: the id of an event; $8: its facts without the statement's number; $9: true to report it. */
const CLOSE_SQL = `
  with closed as (
    insert into org_statement (org_id, month, opening, closing, document, sha256)
    values ($1, $2, $3, $4, $5, $6) on conflict do nothing
    returning org_id, to_char(month, 'YYYY-MM') as month, number
  )
  select alert_report($7, org_id, 'statement.ready',
    $8::jsonb || jsonb_build_object('number',
      month || '-' || lpad(number::text, greatest(6, length(number::text)), '0')),
    'statement.ready ' || org_id || ' ' || month)
  from closed where $9`;

/**
 * Returns one sentence per difference, for at most five models and five keys. If `isUsageThere` is
 * false (usage was deleted from the journal), compares only the opening balance and the credits.
 */
function findDifferences(
  kept: StatementDocument,
  now: StatementDocument,
  { isUsageThere }: { readonly isUsageThere: boolean },
): readonly string[] {
  const differences: string[] = [];
  const compare = (what: string, was: string, is: string): void => {
    if (was !== is) differences.push(`${what}: the statement says ${was}, the books say ${is}`);
  };
  const sums = ({ credits }: StatementDocument): string =>
    credits.map(({ kind, count, amount_usd }) => `${count} × ${kind} $${amount_usd}`).join(", ") ||
    "none";
  compare("opening balance", kept.opening_usd, now.opening_usd);
  compare("credits", sums(kept), sums(now));
  if (!isUsageThere) return differences;
  compare("usage", kept.usage_usd, now.usage_usd);
  compare("closing balance", kept.closing_usd, now.closing_usd);
  const models = findCostDifferences(kept.models, now.models);
  return [...differences, ...models, ...findCostDifferences(kept.keys, now.keys)];
}

function findCostDifferences(was: readonly CostLine[], is: readonly CostLine[]): readonly string[] {
  const [before, after] = [indexCosts(was), indexCosts(is)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const others = names.filter((name) => before.get(name) !== after.get(name));
  return others.slice(0, OTHERS_SHOWN).map((name) => {
    const [said, found] = [before.get(name) ?? NOTHING, after.get(name) ?? NOTHING];
    return `${name}: the statement says ${said}, the books say ${found}`;
  });
}

type CostLine = UsageLine & { readonly model?: string; readonly key_id?: string };

const OTHERS_SHOWN = 5;
const NOTHING = "0.000000";

function indexCosts(lines: readonly CostLine[]): ReadonlyMap<string, string> {
  const some = lines.filter((line) => line.cost_usd !== NOTHING);
  return new Map(some.map((line) => [line.model ?? line.key_id ?? "", line.cost_usd]));
}

function statementNumber(month: string, number: bigint): string {
  return `${month}-${number.toString().padStart(6, "0")}`;
}
