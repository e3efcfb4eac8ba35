import type { PoolClient } from "pg";

import { microUsd, type MicroUsd, type OrgId } from "../../kernel/index.ts";
import { attemptsOutsideSql, findRolledDays } from "./report-parts.ts";

const KINDS = {
  purchase: "purchase",
  grant: "grant",
  purchase_refund: "refund",
  refund_reversal: "refund_reversal",
  dispute: "dispute",
  dispute_won: "dispute_reversal",
  usage: "usage",
} as const;

/**
 * One line of a wallet's statement. The requests of a UTC day form one line at the day's start,
 * including later corrections. The sum of all lines is the settled balance.
 */
export interface WalletLine {
  readonly atMs: number;
  readonly kind: (typeof KINDS)[keyof typeof KINDS] | "other";
  readonly ref: string;
  /** Positive if the line increases the balance. */
  readonly amountMicroUsd: MicroUsd;
}

export interface WalletRow {
  readonly at_ms: bigint;
  /** The id of the transfer; -1 for the usage of a day. */
  readonly id: bigint;
  readonly kind: string;
  readonly ref: string;
  readonly amount: bigint;
}

/**
 * Reads lines, newest first, and one row more than the page. The payment of a debt is no line,
 * because the refund or dispute that caused the debt already is one.
 */
export async function readWalletRows(
  client: PoolClient,
  orgId: OrgId,
  { limit, cursor = "" }: { readonly limit: number; readonly cursor?: string },
) {
  const rolledDays = await findRolledDays(client, orgId);
  // A page with an invalid cursor starts with the newest line.
  const [, atMs = "9223372036854775807", id = "0"] =
    /^(\d{1,15})_(-1|\d{1,18})$/.exec(cursor) ?? [];
  const text = `
  with line as (
    ${CREDIT_LINES_SQL}
    union all
    select extract(epoch from day)::bigint * 1000, -1, 'usage', to_char(day, 'YYYY-MM-DD'),
      -sum(debit)
    from (
      select day, debit from usage_rolled where org_id = $1 and day = any ($2::date[])
      union all
      select attempt_day(attempt_id), debit from attempt
      where org_id = $1 and ${attemptsOutsideSql(rolledDays)}
      union all
      select day, settled from retired_spend where scope = 'org' and id = $1
    ) spent group by day having sum(debit) > 0
  )
  select at_ms, id, kind, ref, amount from line
  where (at_ms, id) < ($3, $4) order by at_ms desc, id desc limit $5`;
  const values = [orgId, rolledDays, atMs, id, limit + 1];
  return (await client.query<WalletRow>(text, values)).rows;
}

export function walletPage(rows: readonly WalletRow[], limit: number) {
  const last = rows[limit - 1];
  const hasMore = rows.length > limit && last !== undefined;
  return {
    lines: rows.slice(0, limit).map(walletLine),
    nextCursor: hasMore ? `${last.at_ms}_${last.id}` : null,
  };
}

const TRANSFER_COLUMNS = `floor(extract(epoch from at) * 1000)::bigint as at_ms, transfer_id as id,
      kind, ref`;

/** Lists the movements of organization $1 that belong to no request. */
export const CREDIT_LINES_SQL: string = `select ${TRANSFER_COLUMNS}, amount from transfer
    where credit_account = 'wallet:' || $1 and attempt_id is null
    union all
    select ${TRANSFER_COLUMNS}, -amount from transfer
    where debit_account = 'receivable:' || $1 and attempt_id is null
    union all
    select ${TRANSFER_COLUMNS}, -amount from transfer
    where debit_account = 'wallet:' || $1 and attempt_id is null and kind <> 'collect'`;

export function walletLine({ at_ms: atMs, kind, ref, amount }: WalletRow): WalletLine {
  const shown = kinds.get(kind) ?? "other";
  return {
    atMs: Number(atMs),
    kind: shown,
    // The kind is shown separately, so the reference omits prefixes such as `purchase:`.
    ref: shown === "grant" || shown === "other" ? ref : ref.replace(/^[a-z-]+:/, ""),
    amountMicroUsd: microUsd(amount),
  };
}

const kinds: ReadonlyMap<string, WalletLine["kind"]> = new Map(Object.entries(KINDS));
