import type { Pool } from "pg";

import {
  assert,
  type ChangedBy,
  type ChangeLog,
  type Columns,
  columns,
  type ColumnsOf,
  instantMs,
  instantOrNull,
  opaque,
  type OrgId,
  orNull,
  type Public,
  type Row,
  text,
} from "../../kernel/index.ts";
import type {
  ConnectionOwner,
  ConnectionSummary,
  NewConnection,
  ResealedKey,
  StoredConnection,
} from "./connection-store.ts";
import type { KeyVault } from "./key-vault.ts";

/** Customers' own provider keys in PostgreSQL, sealed. */
export class PostgresConnectionStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /**
   * `taken`: the organization, or this key of it, has an active connection to the provider already.
   * Undefined: there is no such organization, or the key is none of its keys.
   */
  async create(
    connection: NewConnection,
    by: ChangedBy,
  ): Promise<ConnectionSummary | "taken" | undefined> {
    const { connectionId, orgId, keyId, providerId, name, label, sealedKey } = connection;
    const values = [connectionId, orgId, keyId, providerId, name, label, sealedKey];
    return await this.#changes.write(by, async (client, note) => {
      const { rows } = await client.query<Made>(CREATE_SQL, values);
      const [row] = rows;
      assert(row !== undefined, "a creation answers one row");
      if (!row.is_known) return undefined;
      if (row.connection_id === null) return "taken";
      const after = { provider: providerId, name, key_id: keyId };
      note({ action: "connection.add", orgId, target: connectionId, before: null, after });
      return summaryColumns.read(row);
    });
  }

  /** Oldest first, disabled ones included. */
  async list(orgId: OrgId): Promise<readonly ConnectionSummary[]> {
    const result = await this.#pool.query<Row>(
      `select ${summaryColumns.sql} from connection where org_id = $1 order by created_at, connection_id`,
      [orgId],
    );
    return result.rows.map(summaryColumns.read);
  }

  async find(connectionId: string, owner: ConnectionOwner): Promise<StoredConnection | undefined> {
    const result = await this.#pool.query<Row>(
      `select ${storedColumns.sql} from connection ${OWNED_SQL}`,
      [connectionId, ownerOrNull(owner)],
    );
    const row = result.rows[0];
    return row === undefined ? undefined : storedColumns.read(row);
  }

  /** Connections with a key, of all organizations, in the order of their ids, behind `after`. */
  async listSealed(after: string, max: number): Promise<readonly StoredConnection[]> {
    const { rows } = await this.#pool.query<Row>(
      `select ${storedColumns.sql} from connection
       where connection_id > $1 and disabled_at is null order by connection_id limit $2`,
      [after, max],
    );
    return rows.map(storedColumns.read);
  }

  /** Stores keys that were sealed again; one that changed meanwhile stays. Resolves with their number. */
  async reseal(changed: readonly ResealedKey[], by: ChangedBy): Promise<number> {
    return await this.#changes.write(by, async (client, note) => {
      const { rowCount } = await client.query(RESEAL_SQL, [
        changed.map(({ connectionId }) => connectionId),
        changed.map(({ was }) => was),
        changed.map(({ sealedKey }) => sealedKey),
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
   * Disables permanently and deletes the sealed key; a second call keeps the first instant.
   * Undefined: the owner has no such connection.
   */
  async disable(
    connectionId: string,
    owner: ConnectionOwner,
    by: ChangedBy,
  ): Promise<ConnectionSummary | undefined> {
    return await this.#changes.write(by, async (client, note) => {
      const values = [connectionId, ownerOrNull(owner)];
      const { rows } = await client.query<Row>(DISABLE_SQL, values);
      const [row] = rows;
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

const summaryProperties: ColumnsOf<ConnectionSummary> = {
  connectionId: text("connection_id"),
  orgId: text("org_id"),
  providerId: text("provider_id"),
  keyId: orNull(text("key_id")),
  name: text("name"),
  label: text("label"),
  createdAtMs: instantMs("created_at"),
  disabledAtMs: orNull(instantMs("disabled_at")),
};

const summaryColumns: Columns<ConnectionSummary> = columns(summaryProperties);

const storedColumns: Columns<StoredConnection> = columns({
  ...summaryProperties,
  sealedKey: opaque("sealed_key"),
});

/** $1 connection, $2 organization or null for an operator. */
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

const wasDisabled = columns<Pick<ConnectionSummary, "disabledAtMs">>({
  disabledAtMs: orNull(instantMs("was_disabled_at")),
});

/** One row always: a creation that made nothing returns whether organization and key are known. */
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

interface Made {
  readonly is_known: boolean;
  readonly connection_id: string | null;
}

function ownerOrNull(owner: ConnectionOwner): OrgId | null {
  return owner === "operator" ? null : owner;
}

const BATCH = 500;

export interface Resealed {
  /** Now sealed with the first key. */
  readonly resealed: number;
  /** Were so before. */
  readonly kept: number;
  /** Ids of connections that no key of the ring opens; they are not changed. */
  readonly unopened: readonly string[];
}

/** Seals every stored key with the first encryption key, while calls go on. May be repeated. */
export async function resealConnections(
  store: ConnectionStore,
  vault: KeyVault,
  by: ChangedBy,
): Promise<Resealed> {
  let [resealed, kept] = [0, 0];
  const unopened: string[] = [];
  for await (const batch of batches(store)) {
    const sealedBy = batch.map((each) => vault.sealedBy(each.sealedKey, each));
    kept += sealedBy.filter((name) => name === vault.keyNames[0]).length;
    unopened.push(
      ...batch.filter((_, at) => sealedBy[at] === undefined).map((each) => each.connectionId),
    );
    const others = batch.filter(
      (_, at) => sealedBy[at] !== undefined && sealedBy[at] !== vault.keyNames[0],
    );
    if (others.length > 0) {
      resealed += await store.reseal(
        others.map((each) => ({
          connectionId: each.connectionId,
          was: each.sealedKey,
          sealedKey: vault.seal(vault.open(each.sealedKey, each), each),
        })),
        by,
      );
    }
  }
  return { resealed, kept, unopened };
}

/** How many stored keys each encryption key sealed, by its name; "unknown": none of the ring did. */
export async function countSealedBy(
  store: ConnectionStore,
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(vault.keyNames.map((name) => [name, 0]));
  for await (const batch of batches(store)) {
    for (const each of batch) {
      const name = vault.sealedBy(each.sealedKey, each) ?? "unknown";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function* batches(store: ConnectionStore): AsyncGenerator<readonly StoredConnection[]> {
  let after = "";
  while (true) {
    const batch = await store.listSealed(after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    after = last.connectionId;
  }
}
