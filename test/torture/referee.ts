import { SETTLE_WAIT_MS } from "../../src/kernel/core/constants.ts";
import type { TortureDatabase } from "./database.ts";
import type { Findings } from "./findings.ts";
import type { Trouble } from "./havoc.ts";
import type { Journal, JournalAttempt } from "./journal.ts";
import { costOf, type CountingProvider } from "./provider.ts";
import type { Tally, Reported } from "./tally.ts";

/** The sources that the referee compares when a run is over. */
export interface Witnesses {
  readonly database: TortureDatabase;
  readonly journal: Journal;
  readonly provider: CountingProvider;
  readonly tally: Tally;
  readonly granted: readonly string[];
  readonly troubles: readonly Trouble[];
}

/** Counts that are reported but are no violations. */
export interface Verdict {
  /** Answers whose gateway was killed while their settlement still waited for the database. */
  readonly lostSettlements: number;
}

/** Compares the books with themselves, with the provider's records, and with the clients'. */
export async function judge(witnesses: Witnesses, findings: Findings): Promise<Verdict> {
  await judgeBooks(witnesses.database, findings);
  await judgeBySql(witnesses, findings);
  judgeProvider(witnesses, findings);
  return { lostSettlements: judgeClients(witnesses, findings) };
}

async function judgeBooks(database: TortureDatabase, findings: Findings): Promise<void> {
  for (const { id, title, violations } of await database.backend.audit()) {
    const what = `${id}: ${title}`;
    findings.expect(what);
    if (violations > 0) findings.add(what, `${violations} times`);
  }
}

async function judgeBySql({ database, granted }: Witnesses, findings: Findings): Promise<void> {
  for (const [what, sql] of Object.entries(CHECKS)) {
    findings.expect(what);
    for (const row of await database.query<{ what: string }>(sql)) findings.add(what, row.what);
  }
  const what = "every acknowledged grant is in the books once";
  findings.expect(what);
  const rows = await database.query<{ ref: string; count: bigint }>(grantsSql, [granted]);
  for (const { ref, count } of rows) if (count !== 1n) findings.add(what, `${ref}: ${count} times`);
}

const grantsSql = `
  select g.ref, count(t.transfer_id) from unnest($1::text[]) as g(ref)
  left join transfer t on t.ref = g.ref group by g.ref`;

function judgeProvider({ journal, provider }: Witnesses, findings: Findings): void {
  findings.expect(SENT_WITHOUT_ROW);
  findings.expect(SENT_AGAIN);
  findings.expect(SENT_ANNULLED);
  findings.expect(OTHER_USAGE);
  findings.expect(OTHER_OWED);
  findings.expect(COMPLAINT);
  for (const complaint of provider.complaints) findings.add(COMPLAINT, complaint);
  for (const [attemptId, { times, unanswered, reported }] of provider.received) {
    const row = journal.attempts.get(attemptId);
    if (row === undefined) findings.add(SENT_WITHOUT_ROW, attemptId);
    if (times > 1 + Math.min(1, unanswered))
      findings.add(SENT_AGAIN, `${attemptId}: ${times} times`);
    if (row?.isAnnulled === true) findings.add(SENT_ANNULLED, attemptId);
    if (row?.basis !== "reported" || reported === undefined) continue;
    const { prompt, completion, isForHour } = reported;
    const cost = costOf(reported);
    const isSame =
      row.prompt === BigInt(prompt) &&
      row.completion === BigInt(completion) &&
      row.hour === (isForHour ? BigInt(prompt) : null);
    if (!isSame || row.debit + row.overrun !== cost.microUsd) findings.add(OTHER_USAGE, shown(row));
    if (row.owedPico !== cost.owedPico) findings.add(OTHER_OWED, shown(row));
  }
}

const COMPLAINT = "every request that reached the provider was well-formed";
const SENT_WITHOUT_ROW = "every attempt the provider received has a journal row (I12)";
const SENT_AGAIN =
  "no attempt reached the provider twice, but once more when its connection ended unanswered";
const SENT_ANNULLED = "no annulled attempt reached the provider";
const OTHER_OWED = "what a provider is owed is what it reported, at its own prices";
const OTHER_USAGE = "what was settled as reported is what the provider reported";

/** Returns how many settlements were lost because their gateway was killed. */
function judgeClients(witnesses: Witnesses, findings: Findings): number {
  const { journal, tally } = witnesses;
  findings.expect(OTHER_COST);
  findings.expect(REFUSED_COST);
  findings.expect(NO_ANSWER);
  findings.expect(STRANGE_ANSWER);
  let lostSettlements = 0;
  for (const [requestId, reported] of tally.reported) {
    const rows = journal.requests.get(requestId) ?? [];
    const debit = debitOf(rows);
    if (rows.length > 0 && reported.costMicroUsd === debit) continue;
    if (isLostSettlement(reported, rows, witnesses)) lostSettlements += 1;
    else {
      const example = `reported ${reported.costMicroUsd}, debited ${debit}: ${all(rows)}`;
      findings.add(OTHER_COST, `${requestId}: ${example}`);
    }
  }
  for (const requestId of tally.refusedIds) {
    const rows = journal.requests.get(requestId) ?? [];
    if (debitOf(rows) > 0n) findings.add(REFUSED_COST, `${requestId}: ${all(rows)}`);
  }
  for (let n = 0; n < tally.unanswered; n++) findings.add(NO_ANSWER, "a call hung");
  for (const [words, times] of tally.refusals) {
    if (!USUAL_REFUSAL.test(words)) findings.add(STRANGE_ANSWER, `${words}: ${times} times`);
  }
  return lostSettlements;
}

/**
 * An answer waits at most two seconds for its settlement. If the gateway is killed while the
 * settlement still waits for the database, the observed cost is lost.
 */
function isLostSettlement(
  reported: Reported,
  rows: readonly JournalAttempt[],
  { troubles, provider }: Witnesses,
): boolean {
  const isUnknown = rows.some((row) => row.state === "unknown_after_crash" && !row.isCorrected);
  if (!isUnknown || (reported.costMicroUsd ?? 0n) > debitOf(rows)) return false;
  const wasInTrouble = troubles.some(
    ({ life, startMs, endMs }) =>
      (life ?? reported.life) === reported.life &&
      startMs < reported.atMs &&
      reported.atMs < endMs + SETTLED_AGAIN_MS,
  );
  // A settlement may also wait without a kill or pause: a busy machine may delay the database.
  const endedMs = Math.max(
    ...rows.map((row) => provider.received.get(row.attemptId)?.endedMs ?? 0),
  );
  const hasWaited = endedMs > 0 && reported.atMs - endedMs >= SETTLE_WAIT_MS;
  return (wasInTrouble || hasWaited) && reported.life.endedMs < reported.atMs + WAITING_MS;
}

/** Time from the end of a trouble until the waiting settlements have been tried again. */
const SETTLED_AGAIN_MS = 5_000;
/** A settlement may still have waited if its gateway ended this soon after the answer. */
const WAITING_MS = 20_000;

const OTHER_COST = "the cost reported in every whole answer is the ledger's debit of that request";
const REFUSED_COST = "a request that was answered with 429 cost nothing";
const NO_ANSWER = "every call came to an end";
const STRANGE_ANSWER = "no client was refused for a reason that it had not given";
/**
 * Expected refusals: no money left, a failed provider, a journal that does not answer. 408 comes
 * from a gateway that was paused for longer than a request may take to arrive.
 */
const USUAL_REFUSAL =
  /^(429 insufficient_quota|50[0234] (upstream_error|model_unavailable)|503 |408 )/;

function debitOf(rows: readonly JournalAttempt[]): bigint {
  return rows.reduce((sum, row) => sum + row.debit, 0n);
}

function all(rows: readonly JournalAttempt[]): string {
  return rows.map(shown).join("; ");
}

function shown(row: JournalAttempt): string {
  const state = `${row.state}${row.isCorrected ? " corrected" : ""}`;
  return `attempt ${row.attemptId} ${state}, reserve ${row.reserve}, debit ${row.debit}`;
}

/** Queries for the violations that SQL alone can find; each row is one violation. */
const CHECKS: Readonly<Record<string, string>> = {
  "no attempt is open and nothing is held": `
    select 'attempt ' || attempt_id || ' of ' || instance_id as what from hold
      where not annulled
    union all
    select account_id || ' holds ' || reserved from account where reserved <> 0
    union all
    select scope || ' ' || id || ' holds ' || reserved from spend where reserved <> 0`,
  "no organization was ever below zero: the journal and the transfers replayed in their order": `
    with step as (
      select o.org_id, t.position, t.amount from transfer t
        join org o on t.credit_account = 'wallet:' || o.org_id where t.kind = 'grant'
      union all
      select org_id, opened_position, -reserve from journal
      union all
      select org_id, closed_position, reserve from attempt where state in ('settled', 'void')
      union all
      select org_id, closed_position, -debit from attempt where state = 'settled'
      union all
      select org_id, corrected_position, reserve - debit from attempt
        where corrected_position is not null
    ), jointly as (
      select org_id, position, sum(amount) as amount from step group by org_id, position
    ), running as (
      select org_id, position,
        sum(amount) over (partition by org_id order by position) as available from jointly
    )
    select org_id || ' had ' || available || ' at position ' || position as what from running
      where available < 0`,
  "no monthly cap is overspent": `
    select 'org ' || o.org_id || ' spent ' || s.settled as what from org o
      join spend s on s.scope = 'org' and s.id = o.org_id where s.settled > o.cap_micro_usd
    union all
    select 'key ' || k.key_id || ' spent ' || s.settled from api_key k
      join spend s on s.scope = 'key' and s.id = k.key_id where s.settled > k.cap_micro_usd`,
};
