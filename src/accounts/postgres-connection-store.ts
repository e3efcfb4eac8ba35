import type { Pool } from "pg";

import { assert } from "../core/assert.ts";
import type {
  ConnectionOwner,
  ConnectionStore,
  ConnectionSummary,
  NewConnection,
  StoredConnection,
} from "./connection-store.ts";
import type { KeyId, OrgId, ProviderId } from "../core/ids.ts";

/** Customers' own provider keys in PostgreSQL, sealed. */
export class PostgresConnectionStore implements ConnectionStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async create(connection: NewConnection): Promise<ConnectionSummary | "taken" | undefined> {
    const result = await this.#pool.query<{ is_known: boolean } & Unmade>(createSql, [
      connection.connectionId,
      connection.orgId,
      connection.keyId,
      connection.providerId,
      connection.name,
      connection.label,
      connection.sealedKey,
    ]);
    const row = result.rows[0];
    assert(row !== undefined, "a creation answers one row");
    if (!row.is_known) return undefined;
    return isMade(row) ? summary(row) : "taken";
  }

  async list(orgId: OrgId): Promise<readonly ConnectionSummary[]> {
    const result = await this.#pool.query<ConnectionRow>(
      `select ${columns} from connection where org_id = $1 order by created_at, connection_id`,
      [orgId],
    );
    return result.rows.map(summary);
  }

  async find(connectionId: string, owner: ConnectionOwner): Promise<StoredConnection | undefined> {
    const result = await this.#pool.query<ConnectionRow & { sealed_key: Buffer }>(
      `select ${columns}, sealed_key from connection ${ownedSql}`,
      [connectionId, ownerOrNull(owner)],
    );
    const row = result.rows[0];
    return row === undefined ? undefined : { ...summary(row), sealedKey: row.sealed_key };
  }

  async disable(
    connectionId: string,
    owner: ConnectionOwner,
  ): Promise<ConnectionSummary | undefined> {
    const result = await this.#pool.query<ConnectionRow>(
      `update connection set disabled_at = coalesce(disabled_at, now()), sealed_key = ''
      ${ownedSql} returning ${columns}`,
      [connectionId, ownerOrNull(owner)],
    );
    const row = result.rows[0];
    return row === undefined ? undefined : summary(row);
  }
}

const columns = "connection_id, org_id, provider_id, key_id, name, label, created_at, disabled_at";

/** $1 connection, $2 organization or null for an operator. */
const ownedSql = "where connection_id = $1 and ($2::text is null or org_id = $2)";

/** One row always: a creation that made nothing returns whether organization and key are known. */
const createSql = `
  with owner as (
    select org_id from org o where org_id = $2 and ($3::text is null
      or exists (select from api_key k where k.key_id = $3 and k.org_id = o.org_id))
  ), made as (
    insert into connection (connection_id, org_id, key_id, provider_id, name, label, sealed_key)
    select $1, org_id, $3, $4, $5, $6, $7 from owner
    on conflict do nothing returning ${columns}
  )
  select exists (select from owner) as is_known, made.* from (select) as one left join made on true`;

interface ConnectionRow {
  readonly connection_id: string;
  readonly org_id: string;
  readonly provider_id: string;
  readonly key_id: string | null;
  readonly name: string;
  readonly label: string;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

type Unmade = ConnectionRow | { readonly connection_id: null };

function isMade(row: Unmade): row is ConnectionRow {
  return row.connection_id !== null;
}

function ownerOrNull(owner: ConnectionOwner): OrgId | null {
  return owner === "operator" ? null : owner;
}

function summary(row: ConnectionRow): ConnectionSummary {
  return {
    connectionId: row.connection_id,
    orgId: row.org_id as OrgId,
    providerId: row.provider_id as ProviderId,
    keyId: row.key_id as KeyId | null,
    name: row.name,
    label: row.label,
    createdAtMs: row.created_at.getTime(),
    disabledAtMs: row.disabled_at?.getTime() ?? null,
  };
}
