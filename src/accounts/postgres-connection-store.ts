import type { Pool } from "pg";

import { assert, type OrgId } from "../core/index.ts";
import {
  columns,
  type Columns,
  type ColumnsOf,
  instantMs,
  opaque,
  orNull,
  type Row,
  text,
} from "../storage/index.ts";
import type {
  ConnectionOwner,
  ConnectionStore,
  ConnectionSummary,
  NewConnection,
  StoredConnection,
} from "./connection-store.ts";

/** Customers' own provider keys in PostgreSQL, sealed. */
export class PostgresConnectionStore implements ConnectionStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async create(connection: NewConnection): Promise<ConnectionSummary | "taken" | undefined> {
    const result = await this.#pool.query<Made>(CREATE_SQL, [
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
    return row.connection_id === null ? "taken" : summaryColumns.read(row);
  }

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

  async disable(
    connectionId: string,
    owner: ConnectionOwner,
  ): Promise<ConnectionSummary | undefined> {
    const result = await this.#pool.query<Row>(
      `update connection set disabled_at = coalesce(disabled_at, now()), sealed_key = ''
      ${OWNED_SQL} returning ${summaryColumns.sql}`,
      [connectionId, ownerOrNull(owner)],
    );
    const row = result.rows[0];
    return row === undefined ? undefined : summaryColumns.read(row);
  }
}

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
