import type { PoolClient } from "pg";

import { assert, AssertionFault, CAP_PERIODS, parseCapPeriod } from "../../kernel/index.ts";
import type { ModelAccount } from "../ledger-model.ts";
import * as sql from "./audit-replay-sql.ts";
import type { AuditSpan, OrgRange } from "./audit-span.ts";
import { AuditTally, type AuditCheck } from "./ledger-audit.ts";
import { readBlocks, readRows, type Text, type TextRow } from "./checkpoint-store.ts";
import {
  accountText,
  EMPTY_ACCOUNT,
  JournalReplay,
  type JournalEntry,
  type SpenderName,
} from "./replay.ts";

export interface JournalSize {
  /** An upper bound of the number of journal lines. */
  readonly lines: number;
  readonly bounds: sql.ReplayBounds;
}

export async function readJournalSize(client: PoolClient, span: AuditSpan): Promise<JournalSize> {
  const [row = []] = await readRows(client, sql.journalSizeSql(span));
  const [lines, retiredThrough, retiredIds, firstPosition] = row;
  return {
    lines: Number(lines),
    bounds: {
      retiredThrough: amount(retiredThrough),
      retiredIds: amount(retiredIds),
      firstPosition: amount(firstPosition),
    },
  };
}

export interface ReplayedRange {
  readonly checks: readonly AuditCheck[];
  /** The sums that transfers of the range's organizations added to each account of the platform. */
  readonly shared: ReadonlyMap<string, ModelAccount>;
}

export async function replayRange(
  client: PoolClient,
  of: { readonly span: AuditSpan; readonly orgs: OrgRange; readonly bounds: sql.ReplayBounds },
  onLines: (lines: number) => void,
): Promise<ReplayedRange> {
  const { span, orgs, bounds } = of;
  const replay = new JournalReplay(bounds.retiredThrough, sql.findFirstMonth(span));
  for await (const block of readBlocks(client, sql.journalSql(span, orgs, bounds))) {
    for (const row of block) replay.take(readEntry(row));
    onLines(block.length);
  }
  const shared = replay.takeShared();
  await compareBooks(client, replay, { span, orgs });
  return { checks: replay.finish(), shared };
}

async function compareBooks(
  client: PoolClient,
  replay: JournalReplay,
  { span, orgs }: { readonly span: AuditSpan; readonly orgs: OrgRange },
): Promise<void> {
  for await (const block of readBlocks(client, sql.accountsSql(orgs))) {
    for (const row of block) replay.compareAccount(row[0] ?? "", toModelAccount(row));
  }
  for await (const block of readBlocks(client, sql.spendRowsSql(span, orgs))) {
    for (const [scope, id, org, month, settled, reserved] of block) {
      const stored = { settled: amount(settled), reserved: amount(reserved) };
      replay.compareSpend(spender(scope, id, org), Number(month), stored);
    }
  }
  for await (const block of readBlocks(client, sql.capsSql(orgs))) {
    for (const [scope, id, org, period, cap] of block) {
      replay.compareCap(spender(scope, id, org), parseCapPeriod(period), amountOrNull(cap));
    }
  }
}

/** Compares the platform's accounts with the sums of the checkpoint and of all ranges. */
export async function compareShared(
  client: PoolClient,
  span: AuditSpan,
  ranges: readonly ReplayedRange[],
): Promise<AuditCheck> {
  const tally = new AuditTally("replay-accounts", sql.REPLAY_ACCOUNTS_TITLE);
  const moved = new Map<string, ModelAccount>();
  const add = (id: string, { debits, credits, reserved }: ModelAccount): void => {
    const sum = moved.get(id) ?? EMPTY_ACCOUNT;
    moved.set(id, {
      debits: sum.debits + debits,
      credits: sum.credits + credits,
      reserved: sum.reserved + reserved,
    });
  };
  for await (const block of readBlocks(client, sql.sharedBeforeSql(span))) {
    for (const row of block) add(row[0] ?? "", toModelAccount(row));
  }
  for (const { shared } of ranges) for (const [id, account] of shared) add(id, account);
  const compare = (id: string, stored: ModelAccount): void => {
    const replayed = moved.get(id) ?? EMPTY_ACCOUNT;
    moved.delete(id);
    tally.compare(`account ${id}`, accountText(stored), accountText(replayed));
  };
  for await (const block of readBlocks(client, sql.SHARED_ACCOUNTS_SQL)) {
    for (const row of block) compare(row[0] ?? "", toModelAccount(row));
  }
  for (const id of moved.keys()) compare(id, EMPTY_ACCOUNT);
  return tally.check;
}

function toModelAccount([, debits, credits, reserved]: TextRow): ModelAccount {
  return { debits: amount(debits), credits: amount(credits), reserved: amount(reserved) };
}

/** Reads one line of `journalSql`; the meaning of its columns depends on its kind. */
function readEntry(row: TextRow): JournalEntry {
  const [kind, position, attempt, a, b, c, x, y, costPico, owedPico] = row;
  switch (kind) {
    case "cap":
      return {
        kind,
        of: spender(a, b, c),
        // `journalSql` writes a cap's period as its index in `CAP_PERIODS`.
        period: CAP_PERIODS[Number(y)] ?? "month",
        cap: amountOrNull(x),
      };
    case "retired":
      return { kind, of: spender(a, b, c), month: Number(y), settled: amount(x) };
    case "transfer":
      return { kind, debitAccount: a ?? "", creditAccount: b ?? "", amount: amount(x) };
    case "account":
      return { kind, account: a ?? "", debits: amount(x), credits: amount(y) };
    case "open":
    case "held":
    case "crashed":
      return {
        kind,
        position: amount(position),
        attempt: amount(attempt),
        org: a ?? "",
        key: b ?? "",
        provider: c ?? "",
        amount: amount(x),
        month: Number(y),
        day: Number(row[8]),
      };
    case "closed":
    case "corrected":
      return {
        kind,
        attempt: amount(attempt),
        state: a ?? "",
        isCorrected: b === "corrected",
        costPico: amountOrNull(costPico),
        owedPico: amountOrNull(owedPico),
        debit: amount(x),
        overrun: amount(y),
      };
    case null:
    case undefined:
    default:
      throw new AssertionFault(`the journal has no lines of kind ${kind}`);
  }
}

function spender(scope: Text, id: Text, org: Text): SpenderName {
  assert(scope === "org" || scope === "key", "spend is an organization's or a key's");
  return { scope, id: id ?? "", org: org ?? "" };
}

function amount(text: Text): bigint {
  return BigInt(text ?? 0);
}

function amountOrNull(text: Text): bigint | null {
  return text === null || text === undefined ? null : BigInt(text);
}
