import type { PoolClient } from "pg";

import {
  microUsd,
  type KeyId,
  type MicroUsd,
  type OrgId,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { findRolledDays, walletLine, type WalletRow } from "../../gateway/index.ts";
import { receiptNumber } from "./purchase-store.ts";
import * as sql from "./statement-sql.ts";
import {
  type CreditKind,
  type CreditLine,
  type CreditSum,
  type Month,
  spanOfMonth,
  type StatementFigures,
  type UsageFigures,
} from "./statements.ts";

/**
 * Computes a statement's figures for one month from the ledger, in the caller's snapshot. `opening`
 * is the closing balance of the previous statement; without it, the opening balance is computed
 * from the ledger.
 */
export async function readStatement(
  client: PoolClient,
  orgId: OrgId,
  month: Month,
  opening?: MicroUsd,
): Promise<StatementFigures> {
  const { fromMs, toMs } = spanOfMonth(month);
  const books = { orgId, rolledDays: await findRolledDays(client, orgId) };
  const sums = await queryRows<CreditSumRow>(client, sql.creditSumsQuery(orgId, fromMs, toMs));
  const before = sumAmounts(sums.filter((row) => !row.in_month));
  const credits = creditSums(sums.filter((row) => row.in_month));
  const credited = sumAmounts(sums.filter((row) => row.in_month));
  const lines = await queryRows<LineRow>(client, sql.creditLinesQuery(orgId, fromMs, toMs));
  const closing = microUsd(before + credited - (await debitsAt(client, books, toMs)));
  const openingMicroUsd = opening ?? microUsd(before - (await debitsAt(client, books, fromMs)));
  const usage = microUsd(openingMicroUsd + credited - closing);
  const groups = await queryRows<GroupRow>(client, sql.usageQuery(books, fromMs, toMs));
  const ofModels = groups.filter(({ kind }) => kind === "model");
  const listed = ofModels.reduce((sum, { debit }) => sum + debit, 0n);
  return {
    orgId,
    month,
    openingMicroUsd,
    closingMicroUsd: closing,
    credits,
    lines: lines.map(creditLine),
    linesLeftOut: credits.reduce((sum, { count }) => sum + count, 0) - lines.length,
    usageMicroUsd: usage,
    unlistedMicroUsd: microUsd(usage - listed),
    models: ofModels.map((row) => ({ model: row.name, ...toFigures(row) })),
    keys: await nameKeys(
      client,
      orgId,
      groups.filter(({ kind }) => kind === "key"),
    ),
  };
}

interface LineRow extends WalletRow {
  readonly receipt_series: string | null;
  readonly receipt_number: bigint | null;
}

function creditLine(row: LineRow): CreditLine {
  const { receipt_series: series, receipt_number: number } = row;
  const receipt = series === null || number === null ? null : receiptNumber({ series, number });
  return { ...(walletLine(row) as Omit<CreditLine, "receipt">), receipt };
}

interface CreditSumRow {
  readonly kind: string;
  readonly in_month: boolean;
  readonly count: bigint;
  readonly amount: bigint;
}

interface GroupRow {
  readonly kind: "model" | "key";
  readonly name: string;
  readonly requests: bigint;
  readonly input: bigint;
  readonly output: bigint;
  readonly debit: bigint;
}

async function queryRows<R extends object>(
  client: PoolClient,
  { text, values }: { readonly text: string; readonly values: unknown[] },
): Promise<readonly R[]> {
  return (await client.query<R>(text, values)).rows;
}

function sumAmounts(rows: readonly CreditSumRow[]): bigint {
  return rows.reduce((sum, { amount }) => sum + amount, 0n);
}

/** Sums credits by the kinds that customers see, which merge some kinds of the ledger. */
function creditSums(rows: readonly CreditSumRow[]): readonly CreditSum[] {
  const sums = new Map<CreditKind, CreditSum>();
  for (const { kind, count, amount } of rows) {
    const shown = walletLine({ at_ms: 0n, id: 0n, kind, ref: "", amount }).kind as CreditKind;
    const known = sums.get(shown) ?? { count: 0, amountMicroUsd: ZERO_MICRO_USD };
    sums.set(shown, {
      kind: shown,
      count: known.count + Number(count),
      amountMicroUsd: microUsd(known.amountMicroUsd + amount),
    });
  }
  return [...sums.values()];
}

async function debitsAt(
  client: PoolClient,
  books: sql.StatementBooks,
  atMs: number,
): Promise<bigint> {
  const [row] = await queryRows<{ debits: bigint }>(client, sql.debitsQuery(books, atMs));
  return row?.debits ?? 0n;
}

function toFigures(row: GroupRow): UsageFigures {
  return {
    requests: Number(row.requests),
    inputTokens: Number(row.input),
    outputTokens: Number(row.output),
    costMicroUsd: microUsd(row.debit),
  };
}

async function nameKeys(
  client: PoolClient,
  orgId: OrgId,
  rows: readonly GroupRow[],
): Promise<StatementFigures["keys"]> {
  const ids = rows.map(({ name }) => name);
  const found = await client.query<{ key_id: string; name: string }>(sql.KEY_NAMES_SQL, [
    orgId,
    ids,
  ]);
  const names = new Map(found.rows.map(({ key_id: id, name }) => [id, name]));
  return rows.map((row) => ({
    keyId: row.name as KeyId | "other",
    name: names.get(row.name) ?? row.name,
    ...toFigures(row),
  }));
}
