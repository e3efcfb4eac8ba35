import type { Pool, QueryResult, QueryResultRow } from "pg";

import { type ChangedBy, type ChangeLog, maskedEmail } from "../changes/index.ts";
import { queryInTime } from "../storage/index.ts";
import type { LocalIssuerStore, LocalRecord } from "./identity-store.ts";

/** What the bundled issuer keeps, in PostgreSQL. */
export class PostgresLocalIssuerStore implements LocalIssuerStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async addClaim(
    claim: {
      readonly tokenHash: Buffer;
      readonly email: string | null;
      readonly expiresAtMs: number;
    },
    by: ChangedBy,
  ): Promise<void> {
    const { tokenHash, email, expiresAtMs } = claim;
    const values = [tokenHash, email, new Date(expiresAtMs)];
    await this.#changes.write(by, async (client, note) => {
      await client.query(ADD_CLAIM_SQL, values);
      const target = email === null ? "anyone who has the link" : maskedEmail(email);
      const after = { expires_at: new Date(expiresAtMs).toISOString() };
      note({ action: "console-link.create", orgId: null, target, before: null, after });
    });
  }

  async findClaim(
    tokenHash: Buffer,
    nowMs: number,
  ): Promise<{ readonly email: string | null } | undefined> {
    const { rows } = await this.#run<{ email: string | null }>(
      "select email from local_claim where token_hash = $1 and expires_at > $2",
      [tokenHash, new Date(nowMs)],
    );
    return rows[0];
  }

  async takeClaim(
    tokenHash: Buffer,
    browser: {
      readonly tokenHash: Buffer;
      readonly email: string;
      readonly nowMs: number;
      readonly expiresAtMs: number;
    },
  ): Promise<boolean> {
    const { rowCount } = await this.#run(TAKE_CLAIM_SQL, [
      tokenHash,
      browser.tokenHash,
      browser.email,
      new Date(browser.expiresAtMs),
      new Date(browser.nowMs),
    ]);
    return rowCount === 1;
  }

  async findBrowser(tokenHash: Buffer, nowMs: number): Promise<string | undefined> {
    const { rows } = await this.#run<{ email: string }>(
      "select email from local_browser where token_hash = $1 and expires_at > $2",
      [tokenHash, new Date(nowMs)],
    );
    return rows[0]?.email;
  }

  async noteConsole(instanceId: string, url: string): Promise<void> {
    await this.#run(NOTE_CONSOLE_SQL, [instanceId, url]);
  }

  async findConsole(): Promise<string | undefined> {
    const { rows } = await this.#run<{ url: string }>(FIND_CONSOLE_SQL, []);
    return rows[0]?.url;
  }

  async upsertRecord(record: LocalRecord): Promise<void> {
    await this.#run(UPSERT_RECORD_SQL, [
      record.kind,
      record.idHash,
      JSON.stringify(record.payload),
      record.uid,
      record.grantId,
      new Date(record.expiresAtMs),
    ]);
  }

  async findRecord(kind: string, idHash: Buffer): Promise<LocalRecord | undefined> {
    const { rows } = await this.#run<RecordRow>(
      "select * from local_issuer_record where kind = $1 and id_hash = $2",
      [kind, idHash],
    );
    return rows[0] === undefined ? undefined : localRecord(rows[0]);
  }

  async findRecordByUid(kind: string, uid: string): Promise<LocalRecord | undefined> {
    const { rows } = await this.#run<RecordRow>(
      "select * from local_issuer_record where kind = $1 and uid = $2 limit 1",
      [kind, uid],
    );
    return rows[0] === undefined ? undefined : localRecord(rows[0]);
  }

  async consumeRecord(kind: string, idHash: Buffer, nowMs: number): Promise<void> {
    await this.#run(
      "update local_issuer_record set consumed_at = $3 where kind = $1 and id_hash = $2",
      [kind, idHash, new Date(nowMs)],
    );
  }

  async dropRecord(kind: string, idHash: Buffer): Promise<void> {
    await this.#run("delete from local_issuer_record where kind = $1 and id_hash = $2", [
      kind,
      idHash,
    ]);
  }

  async dropRecordsOfGrant(grantId: string): Promise<void> {
    await this.#run("delete from local_issuer_record where grant_id = $1", [grantId]);
  }

  async #run<R extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<R>> {
    return await queryInTime<R>(this.#pool, { text, values });
  }
}

// Instances come and go: what is left of those that are gone goes with the next start.
const NOTE_CONSOLE_SQL = `
  with gone as (
    delete from console_address a where a.instance_id <> $1
      and not exists (select from instance i where i.instance_id = a.instance_id)
  )
  insert into console_address (instance_id, url) values ($1, $2)
  on conflict (instance_id) do update set url = excluded.url`;

// The one that renewed its lease last: after an outage the leases of the living differ by little.
const FIND_CONSOLE_SQL = `
  select a.url from console_address a join instance_lease l using (instance_id)
  where l.lease_until > now() order by l.lease_until desc limit 1`;

const ADD_CLAIM_SQL = "insert into local_claim (token_hash, email, expires_at) values ($1, $2, $3)";

const TAKE_CLAIM_SQL = `
  with taken as (
    delete from local_claim where token_hash = $1 and expires_at > $5
      and (email is null or email = $3) returning token_hash
  )
  insert into local_browser (token_hash, email, expires_at) select $2, $3, $4 from taken`;

const UPSERT_RECORD_SQL = `
  insert into local_issuer_record (kind, id_hash, payload, uid, grant_id, expires_at)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (kind, id_hash) do update set payload = excluded.payload, uid = excluded.uid,
    grant_id = excluded.grant_id, expires_at = excluded.expires_at`;

interface RecordRow {
  readonly kind: string;
  readonly id_hash: Buffer;
  readonly payload: Record<string, unknown>;
  readonly uid: string | null;
  readonly grant_id: string | null;
  readonly consumed_at: Date | null;
  readonly expires_at: Date;
}

function localRecord(row: RecordRow): LocalRecord {
  return {
    kind: row.kind,
    idHash: row.id_hash,
    payload: row.payload,
    uid: row.uid,
    grantId: row.grant_id,
    consumedAtMs: row.consumed_at?.getTime() ?? null,
    expiresAtMs: row.expires_at.getTime(),
  };
}
