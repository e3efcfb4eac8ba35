import type { Pool, PoolClient } from "pg";

import {
  assert,
  AssertionFault,
  type AttemptId,
  big,
  columns,
  type Columns,
  hostIdentity,
  instantMs,
  integer,
  inTransaction,
  isAlive,
  isStoreFault,
  ownIdentity,
  queryInTime,
  queryOne,
  queryOneInTime,
  type Row,
  text,
} from "../kernel/index.ts";
import { heldColumns } from "./attempt-columns.ts";
import type { StuckAttempts } from "./books-figures.ts";
import type { LedgerBatchStore, Membership, Renewal } from "./ledger-batch-store.ts";

const NAME_TRIES = 256;

interface InstanceRow {
  readonly host: string;
  readonly process: string;
  readonly leased: boolean;
}

/**
 * Registers a new start of the instance `name` and raises its epoch, so that an earlier start can
 * no longer reserve. If a living process of any machine has that name, tries `name-2`, `name-3` and
 * so on. A dead process of this machine is replaced at once, before its lease ends.
 */
export async function joinInstance(pool: Pool, name: string, leaseMs: number): Promise<Membership> {
  return await inTransaction(pool, async (client) => {
    // The lock lets one instance join at a time, so that no two get the same number or name.
    await client.query("select pg_advisory_xact_lock(hashtext('tokenmarket join'))");
    return await joinFirstFree(client, name, leaseMs);
  });
}

/**
 * Raises the epoch of every dead instance that has holds, and returns their ids. An instance is
 * dead if its lease has ended, or if it was a process of this machine that is gone.
 */
export async function takeOverDeadInstances(pool: Pool): Promise<readonly string[]> {
  const host = hostIdentity();
  const neighbours = await queryInTime<{ process: string }>(pool, {
    text: "select process from instance where host = $1",
    values: [host],
  });
  const gone = neighbours.rows.map((row) => row.process).filter((process) => !isAlive(process));
  const taking = { text: TAKE_OVER_SQL, values: [host, gone] };
  const taken = await queryInTime<{ instance_id: string }>(pool, taking);
  return taken.rows.map((row) => row.instance_id);
}

async function joinFirstFree(
  client: PoolClient,
  name: string,
  leaseMs: number,
): Promise<Membership> {
  for (let i = 1; i <= NAME_TRIES; i++) {
    const instanceId = i === 1 ? name : `${name}-${i}`;
    const found = await client.query<InstanceRow>(FIND_SQL, [instanceId]);
    const row = found.rows[0];
    if (row === undefined)
      await client.query(INSERT_SQL, [instanceId, hostIdentity(), ownIdentity()]);
    else if (isTaken(row)) continue;
    const values = [instanceId, hostIdentity(), ownIdentity(), leaseMs];
    return memberColumns.read(await queryOne<Row>(client, JOIN_SQL, values));
  }
  throw new Error(`${NAME_TRIES} instances named ${name} are alive`);
}

/**
 * True if the instance is alive. On this machine, the operating system decides, because an outage
 * of the database may have ended the lease of a living instance.
 */
function isTaken(row: InstanceRow): boolean {
  if (row.host !== hostIdentity()) return row.leased;
  return row.process !== ownIdentity() && isAlive(row.process);
}

const memberColumns: Columns<Membership> = columns({
  instanceId: text("instance_id"),
  number: integer("number"),
  epoch: big("epoch"),
  attemptIdFloor: big("floor"),
  storeNowMs: instantMs("now"),
  token: text("token"),
  life: integer("life"),
});

// Locks no row, because the batches of a living instance would have to wait for the lock.
const FIND_SQL = `
  select i.host, i.process, coalesce(l.lease_until > now(), false) as leased
  from instance i left join instance_lease l using (instance_id)
  where i.instance_id = $1`;

const TAKE_OVER_SQL = `
  update instance i set epoch = i.epoch + 1
  from instance_lease l
  where l.instance_id = i.instance_id
    and (l.lease_until < now() or (i.host = $1 and i.process = any ($2)))
    and exists (select from hold h
      where h.instance_id = i.instance_id and h.epoch = i.epoch and not h.annulled)
  returning i.instance_id`;

// Frees the numbers of instances that have been gone for a day and have no holds. The first epoch
// of a new instance grows by a million with each reopening of the books, so that it is above all
// epochs that a restore may have lost.
const INSERT_SQL = `
  with gone as (
    delete from instance i using instance_lease l
    where l.instance_id = i.instance_id and l.lease_until < now() - interval '1 day'
      and not exists (select from hold h
        where h.instance_id = i.instance_id and not h.annulled)
  )
  insert into instance (instance_id, number, epoch, host, process)
  select $1, min(t.number), (select coalesce(max(life), 1) - 1 from ledger_life) * 1000000, $2, $3
  from generate_series(0, 1023) as t(number)
  where not exists (select from instance i where i.number = t.number)`;

// An earlier row of this name may have been removed and have left holds. The new epoch must exceed
// the epochs of these holds too.
const JOIN_SQL = `
  with joined as (
    update instance set epoch = greatest(epoch, coalesce((
        select max(h.epoch) from hold h where h.instance_id = $1
      ), 0)) + 1, host = $2, process = $3
    where instance_id = $1 returning instance_id, number, epoch
  ), leased as (
    insert into instance_lease (instance_id, lease_until, token, beat)
    values ($1, now() + $4 * interval '1 millisecond', gen_random_uuid(), 0)
    on conflict (instance_id) do update
      set lease_until = excluded.lease_until, token = excluded.token, beat = 0
    returning token
  )
  select instance_id, number, epoch, coalesce(greatest((select max(attempt_id) from attempt),
      (select max(attempt_id) from hold)), 0) as floor,
    clock_timestamp() as now, leased.token,
    (select coalesce(max(life), 1) from ledger_life) as life
  from joined cross join leased`;

interface RenewalRow {
  readonly verdict: Renewal["kind"];
  readonly finding: string | null;
  readonly beat: bigint | null;
  readonly now: Date;
}

export async function renewMembership(
  pool: Pool,
  renewal: Parameters<LedgerBatchStore["renewLease"]>[0],
): Promise<Renewal> {
  const { member, witness, leaseMs, goesOn } = renewal;
  const row = await queryOneInTime<RenewalRow>(pool, RENEW_SQL, [
    member.instanceId,
    String(member.epoch),
    member.token,
    String(witness.beat),
    new Date(witness.storeNowMs),
    witness.attemptId === null ? null : String(witness.attemptId),
    member.life,
    leaseMs,
    goesOn,
  ]);
  switch (row.verdict) {
    case "held":
      assert(row.beat !== null, "a lease that is held was prolonged");
      return { kind: "held", beat: row.beat, storeNowMs: row.now.getTime() };
    case "taken_over":
      return { kind: "taken_over" };
    case "went_back":
    case "stopped":
      return { kind: row.verdict, finding: row.finding ?? "" };
    default:
      throw new AssertionFault(`a renewal answers no ${String(row.verdict)}`);
  }
}

/** Returns why instances take no traffic; undefined if they may. */
export async function stopReason(pool: Pool): Promise<string | undefined> {
  const { rows } = await queryInTime<{ finding: string }>(pool, { text: STOP_REASON_SQL });
  return rows[0]?.finding;
}

const RENEW_SQL = `
  select verdict, finding, beat, now
  from renew_membership($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

const STOP_REASON_SQL = `
  select concat(instance_id, ': ', finding) as finding from books_alarm
  where ended_in_life is null`;

const BLOCK_ROWS = 500;

/**
 * Closes the open attempts of dead instances, in blocks. If a block violates a constraint, its
 * halves are tried, down to the single stuck attempt, which keeps its hold and delays no other.
 * Known stuck attempts are skipped. Returns the number of closed attempts.
 */
export async function recoverOpenAttempts(pool: Pool, stuck: StuckAttempts): Promise<number> {
  if (stuck.size > 0) return await recoverOneByOne(pool, stuck);
  let recovered = 0;
  for (;;) {
    const block = await recoverBlock(pool);
    // `recoverOneByOne` finds the attempts of the failed block again.
    if (block === undefined) return recovered + (await recoverOneByOne(pool, stuck));
    recovered += block.closed;
    if (block.seen < BLOCK_ROWS) return recovered;
  }
}

interface Recovered {
  readonly closed: number;
  readonly seen: number;
}

async function recoverBlock(pool: Pool): Promise<Recovered | undefined> {
  try {
    return await queryOne<Recovered>(pool, RECOVER_SQL, [BLOCK_ROWS]);
  } catch (fault) {
    if (isStoreFault(fault)) throw fault;
    return undefined;
  }
}

async function recoverOneByOne(pool: Pool, stuck: StuckAttempts): Promise<number> {
  const open = new Set<AttemptId>();
  let recovered = 0;
  let after: AttemptId | undefined;
  for (;;) {
    const { rows } = await pool.query<Row>(FIND_HELD_SQL, [after ?? 0n, BLOCK_ROWS]);
    const found = rows.map(heldColumns.attemptId.read);
    for (const attemptId of found) open.add(attemptId);
    const untried = found.filter((attemptId) => !stuck.has(attemptId));
    if (untried.length > 0) recovered += await closeOrSplit(pool, untried, stuck);
    after = found.at(-1);
    if (found.length < BLOCK_ROWS) break;
  }
  stuck.keepOnly(open);
  return recovered;
}

async function closeOrSplit(
  pool: Pool,
  attempts: readonly AttemptId[],
  stuck: StuckAttempts,
): Promise<number> {
  try {
    return (await queryOne<{ closed: number }>(pool, CLOSE_SQL, [attempts])).closed;
  } catch (fault) {
    const [only, ...more] = attempts;
    if (isStoreFault(fault) || only === undefined) throw fault;
    if (more.length === 0) {
      stuck.add(only, fault);
      return 0;
    }
  }
  const half = attempts.length >> 1;
  const first = await closeOrSplit(pool, attempts.slice(0, half), stuck);
  return first + (await closeOrSplit(pool, attempts.slice(half), stuck));
}

const RECOVER_SQL = "select closed, seen from recover_attempts($1)";

/** Selects the attempts after the id $1 that `recover_attempts` would close. */
const FIND_HELD_SQL = `
  select h.attempt_id from hold h join instance i on i.instance_id = h.instance_id
  where h.epoch < i.epoch and not h.resumable and not h.annulled and h.attempt_id > $1
  order by h.attempt_id limit $2`;

const CLOSE_SQL =
  "select close_unobserved($1, 'unknown_after_crash', 'unknown_after_crash', null, null) as closed";
