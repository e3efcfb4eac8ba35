import type { Pool } from "pg";

import { type ChangedBy, type ChangeLog, recordChanges } from "../../changes/index.ts";
import { inTransaction } from "../../storage/index.ts";
import { FeedFault } from "./day-facts.ts";

/** Of ended attempts and transfers; a warehouse subscribes to it with its own reader. */
export const PUBLICATION = "tm_facts";

export interface FeedStatus {
  readonly isEnabled: boolean;
  readonly walLevel: string;
  /** Slots of logical decoding in this database, and how much log each keeps back. */
  readonly slots: readonly {
    readonly name: string;
    readonly isActive: boolean;
    readonly keptBytes: number;
  }[];
}

export async function feedStatus(pool: Pool): Promise<FeedStatus> {
  const { rows } = await pool.query<{ is_enabled: boolean; wal_level: string }>(STATUS_SQL);
  const slots = await pool.query<{ name: string; is_active: boolean; kept: string }>(SLOTS_SQL);
  return {
    isEnabled: rows[0]?.is_enabled === true,
    walLevel: rows[0]?.wal_level ?? "",
    slots: slots.rows.map(({ name, is_active: isActive, kept }) => ({
      name,
      isActive,
      keptBytes: Number(kept),
    })),
  };
}

/**
 * Days and months appear as the two tables that they are parts of, whichever part a row is in, and
 * parts that are made later belong to it too. Only inserted and corrected rows are published: what
 * becomes of a day in the journal later is not a fact.
 */
export async function enableFeed(books: Books, by: ChangedBy): Promise<FeedStatus> {
  const { pool } = books;
  const before = await feedStatus(pool);
  if (before.isEnabled) return before;
  if (before.walLevel !== "logical") {
    throw new FeedFault(
      `the database writes its log with wal_level = ${before.walLevel}, and the feed needs logical: ` +
        "set it with `alter system set wal_level = logical`, restart the database, and run this again",
    );
  }
  await changeFeed(books, { sql: ENABLE_SQL, action: "feed.enable", isEnabled: true }, by);
  return await feedStatus(pool);
}

/** A slot that still reads it has to be dropped by its reader: it would go on keeping the log. */
export async function disableFeed(books: Books, by: ChangedBy): Promise<FeedStatus> {
  const before = await feedStatus(books.pool);
  if (!before.isEnabled) return before;
  const sql = `drop publication if exists ${PUBLICATION}`;
  await changeFeed(books, { sql, action: "feed.disable", isEnabled: false }, by);
  return await feedStatus(books.pool);
}

interface Books {
  readonly pool: Pool;
  readonly changes: Pick<ChangeLog, "announce">;
}

/** The publication and its change: both, or neither. */
async function changeFeed(
  { pool, changes }: Books,
  made: {
    readonly sql: string;
    readonly action: "feed.enable" | "feed.disable";
    readonly isEnabled: boolean;
  },
  by: ChangedBy,
): Promise<void> {
  const { sql, action, isEnabled } = made;
  const [before, after] = [{ published: !isEnabled }, { published: isEnabled }];
  const recorded = await inTransaction(pool, async (client) => {
    await client.query(sql);
    const change = { action, orgId: null, target: PUBLICATION, before, after };
    return await recordChanges(client, by, [change]);
  });
  changes.announce(recorded);
}

const STATUS_SQL = `
  select exists (select from pg_publication where pubname = '${PUBLICATION}') as is_enabled,
    current_setting('wal_level') as wal_level`;

const SLOTS_SQL = `
  select slot_name::text as name, active as is_active,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::text as kept
  from pg_replication_slots
  where database = current_database() and slot_type = 'logical' order by 1`;

const ENABLE_SQL = `
  create publication ${PUBLICATION} for table attempt, transfer
  with (publish = 'insert, update', publish_via_partition_root = true)`;
