import type { Pool } from "pg";

import { queryInTime } from "../kernel/index.ts";

/** A process that serves, or served lately, from these books. */
export interface KnownInstance {
  readonly number: number;
  readonly host: string;
  readonly leaseUntilMs: number;
  /** False: it has stopped, or lost the database. */
  readonly isAlive: boolean;
  /** Attempts that it has open. */
  readonly openAttempts: number;
}

const LISTED_MAX = 200;

/** Those with a lease first, at most 200; one that has been gone for a day may have left the list. */
export async function readInstances(pool: Pool): Promise<readonly KnownInstance[]> {
  const query = { text: INSTANCES_SQL, values: [LISTED_MAX] };
  const { rows } = await queryInTime<InstanceRow>(pool, query);
  return rows.map((row) => ({
    number: row.number,
    host: row.host,
    leaseUntilMs: row.lease_until.getTime(),
    isAlive: row.is_alive,
    openAttempts: Number(row.open_attempts),
  }));
}

interface InstanceRow {
  readonly number: number;
  readonly host: string;
  readonly lease_until: Date;
  readonly is_alive: boolean;
  readonly open_attempts: bigint;
}

const INSTANCES_SQL = `
  select i.number, i.host, l.lease_until, l.lease_until > now() as is_alive,
    coalesce(open.attempts, 0) as open_attempts
  from instance i join instance_lease l using (instance_id)
  left join (
    select instance_id, count(*) as attempts from hold where not annulled group by instance_id
  ) open using (instance_id)
  order by is_alive desc, i.number limit $1`;
