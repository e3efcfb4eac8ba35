import type { Pool, PoolClient } from "pg";

import { assert, hostIdentity, inTransaction, isAlive, ownIdentity } from "../kernel/index.ts";
import type { Membership } from "./ledger-batch-store.ts";

const NAME_TRIES = 256;

interface InstanceRow {
  readonly host: string;
  readonly process: string;
  readonly leased: boolean;
}

/**
 * Starts a new epoch under `name`. While that name belongs to a living process, here or elsewhere,
 * `name-2`, `name-3` and so on are tried; a dead process of this machine is replaced at once.
 */
export async function joinInstance(pool: Pool, name: string, leaseMs: number): Promise<Membership> {
  return await inTransaction(pool, async (client) => {
    // Starts are rare: one at a time, so that no two get one number or one name.
    await client.query("select pg_advisory_xact_lock(hashtext('tokenmarket join'))");
    return await joinFirstFree(client, name, leaseMs);
  });
}

/**
 * Starts a new epoch for every instance that holds something and is dead: its lease ended, or it
 * was a process of this machine that is gone. Of several callers one wins.
 */
export async function takeOverDeadInstances(pool: Pool): Promise<readonly string[]> {
  const neighbours = await pool.query<{ process: string }>(
    "select process from instance where host = $1",
    [hostIdentity()],
  );
  const gone = neighbours.rows.map((row) => row.process).filter((process) => !isAlive(process));
  const taken = await pool.query<{ instance_id: string }>(TAKE_OVER_SQL, [hostIdentity(), gone]);
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
    const joined = await client.query<JoinedRow>(JOIN_SQL, [
      instanceId,
      hostIdentity(),
      ownIdentity(),
      leaseMs,
    ]);
    return memberOf(instanceId, joined.rows[0]);
  }
  throw new Error(`${NAME_TRIES} instances named ${name} are alive`);
}

/**
 * A process of this machine is checked, whatever became of its lease in an outage; one elsewhere
 * counts as alive until its lease ends.
 */
function isTaken(row: InstanceRow): boolean {
  if (row.host !== hostIdentity()) return row.leased;
  return row.process !== ownIdentity() && isAlive(row.process);
}

interface JoinedRow {
  readonly number: number;
  readonly epoch: bigint;
  readonly floor: bigint;
  readonly now: Date;
  readonly token: string;
  readonly life: number;
}

function memberOf(instanceId: string, row: JoinedRow | undefined): Membership {
  assert(row !== undefined, "joining answers one row");
  return {
    instanceId,
    number: row.number,
    epoch: row.epoch,
    attemptIdFloor: row.floor,
    storeNowMs: row.now.getTime(),
    token: row.token,
    life: row.life,
  };
}

// Without a lock on the row: the batches of a living instance of that name would wait for this start.
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

// A number is free again when its instance is long gone and holds nothing. In a later life of the books
// epochs begin above those that may have been lost.
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

// The epoch also outgrows whatever an earlier, forgotten row of this name left in the journal.
const JOIN_SQL = `
  with joined as (
    update instance set epoch = greatest(epoch, coalesce((
        select max(h.epoch) from hold h where h.instance_id = $1
      ), 0)) + 1, host = $2, process = $3
    where instance_id = $1 returning number, epoch
  ), leased as (
    insert into instance_lease (instance_id, lease_until, token, beat)
    values ($1, now() + $4 * interval '1 millisecond', gen_random_uuid(), 0)
    on conflict (instance_id) do update
      set lease_until = excluded.lease_until, token = excluded.token, beat = 0
    returning token
  )
  select number, epoch, coalesce(greatest((select max(attempt_id) from attempt),
      (select max(attempt_id) from hold)), 0) as floor,
    clock_timestamp() as now, leased.token,
    (select coalesce(max(life), 1) from ledger_life) as life
  from joined cross join leased`;
