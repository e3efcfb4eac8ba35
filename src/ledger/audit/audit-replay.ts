import type { CustomTypesConfig, PoolClient, QueryArrayConfig } from "pg";

import { assert, AssertionFault } from "../../core/index.ts";
import { attemptDay } from "./audit-queries.ts";
import type { AuditCheck, AuditProgress } from "./ledger-audit.ts";
import { JournalReplay, type JournalEntry, type SpenderName } from "./replay.ts";

const BLOCK_ROWS = 5_000;
const PROGRESS_BLOCKS = 50;

type Text = string | null | undefined;
type TextRow = readonly Text[];

/** Replays the journal of the transaction's snapshot and compares the books with what comes out. */
export async function replayJournal(
  client: PoolClient,
  onProgress: (progress: AuditProgress) => void,
): Promise<readonly AuditCheck[]> {
  const [size] = await readRows(client, JOURNAL_SIZE_SQL);
  const [entries, retiredThrough] = size ?? [];
  const replay = new JournalReplay(amount(retiredThrough));
  let replayed = 0;
  let blocks = 0;
  for await (const block of readBlocks(client, JOURNAL_SQL)) {
    for (const row of block) replay.take(readEntry(row));
    replayed += block.length;
    blocks += 1;
    if (blocks % PROGRESS_BLOCKS === 0) onProgress({ replayed, entries: Number(entries) });
  }
  onProgress({ replayed, entries: replayed });
  await compareBooks(client, replay);
  return replay.finish();
}

async function compareBooks(client: PoolClient, replay: JournalReplay): Promise<void> {
  for await (const block of readBlocks(client, ACCOUNTS_SQL)) {
    for (const [id, debits, credits, reserved] of block) {
      replay.compareAccount(id ?? "", {
        debits: amount(debits),
        credits: amount(credits),
        reserved: amount(reserved),
      });
    }
  }
  for await (const block of readBlocks(client, SPEND_SQL)) {
    for (const [scope, id, org, month, settled, reserved] of block) {
      const stored = { settled: amount(settled), reserved: amount(reserved) };
      replay.compareSpend(spender(scope, id, org), Number(month), stored);
    }
  }
  for await (const block of readBlocks(client, CAPS_SQL)) {
    for (const [scope, id, org, cap] of block) {
      replay.compareCap(spender(scope, id, org), amountOrNull(cap));
    }
  }
}

/** Positions of the columns after the kind: attempt, three texts, integers, exact amounts. */
function readEntry(row: TextRow): JournalEntry {
  const [kind, position, attempt, a, b, c, x, y, costPico, owedPico] = row;
  switch (kind) {
    case "cap":
      return { kind, of: spender(a, b, c), cap: amountOrNull(x) };
    case "retired":
      return { kind, of: spender(a, b, c), month: Number(y), settled: amount(x) };
    case "transfer":
      return { kind, debitAccount: a ?? "", creditAccount: b ?? "", amount: amount(x) };
    case "open":
      return {
        kind,
        position: amount(position),
        attempt: amount(attempt),
        org: a ?? "",
        key: b ?? "",
        provider: c ?? "",
        amount: amount(x),
        month: Number(y),
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

/** The rows of a statement in blocks, so that a journal of any length fits into memory. */
async function* readBlocks(client: PoolClient, sql: string): AsyncGenerator<readonly TextRow[]> {
  await client.query(`declare block no scroll cursor for ${sql}`);
  for (;;) {
    const rows = await readRows(client, `fetch ${BLOCK_ROWS} from block`);
    if (rows.length > 0) yield rows;
    if (rows.length < BLOCK_ROWS) break;
  }
  await client.query("close block");
}

async function readRows(client: PoolClient, sql: string): Promise<readonly TextRow[]> {
  const options: QueryArrayConfig = { text: sql, rowMode: "array", types: textTypes };
  return (await client.query<(string | null)[]>(options)).rows;
}

const textTypes: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};

const monthNumber = (month: string): string =>
  `extract(year from ${month})::bigint * 12 + extract(month from ${month})::bigint - 1`;

/** How many lines the journal has at most, and where money of a retired attempt last moved. */
const JOURNAL_SIZE_SQL = `
  select (select 2 * count(*) + count(corrected_at) from attempt)
      + (select count(*) from hold where not annulled)
      + (select count(*) from cap_change)
      + (select count(*) from transfer where attempt_id is null),
    (select max(t.position) from transfer t join retired_day r on r.day = ${attemptDay("t.attempt_id")})`;

/**
 * The journal in order of position; of one position closings before holds, because a hold that was
 * admitted beside them needs no more than that. What happened before the first attempt that is
 * still there comes as sums. An attempt that was annulled before it was opened never held anything.
 */
const JOURNAL_SQL = `
  with outside as (
    select case when t.position < f.position then 0 else t.position end as position,
      t.debit_account, t.credit_account, t.amount
    from transfer t left join retired_day r on r.day = ${attemptDay("t.attempt_id")}
    cross join (select coalesce(min(opened_position), 0) as position from journal) f
    where t.attempt_id is null or r.day is not null
  )
  select kind, position, attempt_id, a, b, c, x, y, cost_pico, owed_pico from (
    select 0 as step, 'cap' as kind, position, null::bigint as attempt_id, scope as a, id as b,
      org_id as c, cap_micro_usd as x, null::bigint as y, null::numeric as cost_pico,
      null::numeric as owed_pico
    from cap_change
    union all
    select 0, 'retired', 0, null, s.scope, s.id, coalesce(k.org_id, s.id),
      sum(s.settled)::bigint, ${monthNumber("s.month")}, null, null
    from retired_spend s left join api_key k on s.scope = 'key' and k.key_id = s.id
    group by s.scope, s.id, k.org_id, s.month
    union all
    select 0, 'transfer', position, null, debit_account, credit_account, null,
      sum(amount)::bigint, null, null, null
    from outside group by position, debit_account, credit_account
    union all
    select 1, 'closed', closed_position, attempt_id, state,
      case when corrected_at is not null then 'corrected' end, null, debit, overrun, cost_pico,
      owed_pico
    from attempt where closed_position <> opened_position
    union all
    select 1, 'corrected', corrected_position, attempt_id, state, null, null, debit, overrun,
      cost_pico, owed_pico
    from attempt where corrected_at is not null
    union all
    select 2, 'open', opened_position, attempt_id, org_id, key_id, provider_id, reserve,
      ${monthNumber("month")}, null, null
    from journal where opened_position is distinct from closed_position
  ) line order by position, step`;

const ACCOUNTS_SQL = "select account_id, debits, credits, reserved from account";

const SPEND_SQL = `
  select s.scope, s.id, coalesce(k.org_id, s.id), ${monthNumber("s.month")}, s.settled, s.reserved
  from spend s left join api_key k on s.scope = 'key' and k.key_id = s.id`;

const CAPS_SQL = `
  select scope, id, org_id, cap from (
    select 'org' as scope, org_id as id, org_id, cap_micro_usd as cap from org
    union all select 'key', key_id, org_id, cap_micro_usd from api_key
  ) x
  where cap is not null or (scope, id) in (select scope, id from cap_change)`;
