import type { Pool } from "pg";

import {
  assert,
  type ChangedBy,
  type ChangeLog,
  columns,
  CONNECTIONS_PER_ORG_MAX,
  createRecordId,
  instantMs,
  instantOrNull,
  type KeyId,
  opaque,
  type OrgId,
  orNull,
  type ProviderId,
  type Public,
  readRows,
  type RecordOf,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { KeyVault, SealedRow, SealedRows } from "./key-vault.ts";

export type NewConnection = Omit<StoredConnection, "createdAtMs" | "disabledAtMs">;

export type ConnectionOwner = OrgId | "operator";

/** Encrypts a provider key for storage. The caller has checked it with `providerKeyProblem`. */
export function sealConnection(
  vault: KeyVault,
  wanted: Pick<NewConnection, "orgId" | "providerId" | "keyId" | "name"> & {
    readonly providerKey: string;
  },
): NewConnection {
  const { orgId, providerId, keyId, name, providerKey } = wanted;
  const connectionId = createRecordId("conn");
  return {
    connectionId,
    orgId,
    providerId,
    keyId,
    name,
    label: providerKey.slice(-LABEL_CHARS),
    sealedKey: vault.seal(providerKey, { connectionId, orgId, providerId }),
  };
}

const LABEL_CHARS = 4;

export class PostgresConnectionStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /**
   * Returns `taken` if the key (without a key: the organization itself) already has an active
   * connection to the provider; `too_many` if the organization has its maximum, in which ones
   * disabled in the last 30 days count; undefined if it does not exist or the key is not one of its keys.
   */
  async create(
    connection: NewConnection,
    by: ChangedBy,
  ): Promise<ConnectionSummary | "taken" | "too_many" | undefined> {
    const { connectionId, orgId, keyId, providerId, name, label, sealedKey } = connection;
    const values = [connectionId, orgId, keyId, providerId, name, label, sealedKey];
    return await this.#changes.write(by, async (client, note) => {
      // Counts under a lock, so that two concurrent calls cannot both create the last allowed one.
      await client.query("select from org where org_id = $1 for no key update", [orgId]);
      const counted = await client.query<{ connections: number }>(COUNT_SQL, [orgId]);
      if ((counted.rows[0]?.connections ?? 0) >= CONNECTIONS_PER_ORG_MAX) return "too_many";
      const { rows } = await client.query<{ is_known: boolean } & Row>(CREATE_SQL, values);
      const [row] = rows;
      assert(row !== undefined, "a creation answers one row");
      if (!row.is_known) return undefined;
      if (row["connection_id"] === null) return "taken";
      const after = { provider: providerId, name, key_id: keyId };
      note({ action: "connection.add", orgId, target: connectionId, before: null, after });
      return summaryColumns.read(row);
    });
  }

  async list(orgId: OrgId): Promise<readonly ConnectionSummary[]> {
    const sql = `select ${summaryColumns.sql} from connection where org_id = $1
      order by created_at, connection_id`;
    return await readRows(this.#pool, summaryColumns, sql, [orgId]);
  }

  async find(connectionId: string, owner: ConnectionOwner): Promise<StoredConnection | undefined> {
    const sql = `select ${storedColumns.sql} from connection ${OWNED_SQL}`;
    const values = [connectionId, ownerOrNull(owner)];
    return (await readRows(this.#pool, storedColumns, sql, values))[0];
  }

  /** Implements `SealedRows`. Disabled connections are left out: their keys are deleted. */
  async listSealed(after: string, max: number): Promise<readonly SealedRow[]> {
    const sql = `select ${storedColumns.sql} from connection
      where connection_id > $1 and disabled_at is null order by connection_id limit $2`;
    const stored = await readRows(this.#pool, storedColumns, sql, [after, max]);
    return stored.map((context) => {
      return { id: context.connectionId, sealed: context.sealedKey, context };
    });
  }

  async reseal(changed: Parameters<SealedRows["reseal"]>[0], by: ChangedBy): Promise<number> {
    return await this.#changes.write(by, async (client, note) => {
      const { rowCount } = await client.query(RESEAL_SQL, [
        changed.map(({ id }) => id),
        changed.map(({ sealed }) => sealed),
        changed.map(({ resealed }) => resealed),
      ]);
      const connections = rowCount ?? 0;
      if (connections > 0) {
        const after = { connections };
        const target = "connections";
        note({ action: "connection.reseal", orgId: null, target, before: null, after });
      }
      return connections;
    });
  }

  /**
   * Disables the connection permanently and deletes its sealed key. A second call keeps the
   * original `disabled_at`. Returns undefined if the owner has no such connection.
   */
  async disable(
    connectionId: string,
    owner: ConnectionOwner,
    by: ChangedBy,
  ): Promise<ConnectionSummary | undefined> {
    return await this.#changes.write(by, async (client, note) => {
      const values = [connectionId, ownerOrNull(owner)];
      const [row] = (await client.query<Row>(DISABLE_SQL, values)).rows;
      if (row === undefined) return undefined;
      const disabled = summaryColumns.read(row);
      const was = wasDisabled.read(row).disabledAtMs;
      note({
        action: "connection.disable",
        orgId: disabled.orgId,
        target: connectionId,
        before: { disabled_at: instantOrNull(was) },
        after: { disabled_at: instantOrNull(disabled.disabledAtMs) },
      });
      return disabled;
    });
  }
}

export type ConnectionStore = Public<PostgresConnectionStore>;

const summaryProperties = {
  connectionId: text<string>("connection_id"),
  orgId: text<OrgId>("org_id"),
  providerId: text<ProviderId>("provider_id"),
  /** Null if every key of the organization may use the connection. */
  keyId: orNull(text<KeyId>("key_id")),
  name: text<string>("name"),
  label: text<string>("label"),
  createdAtMs: instantMs("created_at"),
  disabledAtMs: orNull(instantMs("disabled_at")),
} as const;
const summaryColumns = columns(summaryProperties);
export type ConnectionSummary = RecordOf<typeof summaryColumns>;

const storedColumns = columns({
  ...summaryProperties,
  /** Empty once the connection is disabled. */
  sealedKey: opaque<Buffer>("sealed_key"),
});
export type StoredConnection = RecordOf<typeof storedColumns>;

/** Selects a connection of an owner. $1 connection, $2 organization, or null for an operator. */
const OWNED_SQL = "where connection_id = $1 and ($2::text is null or org_id = $2)";

const RESEAL_SQL = `
  update connection c set sealed_key = n.sealed_key
  from unnest($1::text[], $2::bytea[], $3::bytea[]) as n (connection_id, was, sealed_key)
  where c.connection_id = n.connection_id and c.sealed_key = n.was and c.disabled_at is null`;

const DISABLE_SQL = `
  update connection c set disabled_at = coalesce(disabled_at, now()), sealed_key = ''
  from (
    select connection_id as was_id, disabled_at as was_disabled_at
    from connection ${OWNED_SQL} for no key update
  ) was
  where c.connection_id = was.was_id returning ${summaryColumns.sqlOf("c")}, was_disabled_at`;

const wasDisabled = columns({ disabledAtMs: orNull(instantMs("was_disabled_at")) });

const COUNT_SQL = `
  select count(*)::integer as connections from connection
  where org_id = $1 and (disabled_at is null or disabled_at > now() - interval '30 days')`;

/** Always returns one row, which tells whether the organization and the key exist. */
const CREATE_SQL = `
  with owner as (
    select org_id from org o where org_id = $2 and ($3::text is null
      or exists (select from api_key k where k.key_id = $3 and k.org_id = o.org_id))
  ), made as (
    insert into connection (connection_id, org_id, key_id, provider_id, name, label, sealed_key)
    select $1, org_id, $3, $4, $5, $6, $7 from owner
    on conflict do nothing returning ${summaryColumns.sql}
  )
  select exists (select from owner) as is_known, made.* from (select) as one left join made on true`;

function ownerOrNull(owner: ConnectionOwner): OrgId | null {
  return owner === "operator" ? null : owner;
}
