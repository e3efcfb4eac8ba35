import type { Pool } from "pg";

import type { ChangedBy, ChangeLog } from "../changes/index.ts";
import { assert, type MicroUsd, newOrgId, type OrgId } from "../core/index.ts";
import {
  columns,
  type Columns,
  computed,
  instantMs,
  micro,
  queryInTime,
  type Row,
  text,
} from "../storage/index.ts";
import { keyRecord, keyRecordSql, type KeyRecordRow } from "./key-record-rows.ts";
import type {
  AccountStore,
  KeyEdit,
  KeyRecord,
  KeyStore,
  KeySummary,
  NewKey,
  OrgSummary,
} from "./key-store.ts";
import { editKeys } from "./edit-keys.ts";
import { changeOrgCap, createNotedKey } from "./key-changes.ts";
import { keyColumns } from "./key-summary-rows.ts";
import { CREATE_ORG_SQL, createdOrg } from "./org-rows.ts";

/** Organizations and keys in PostgreSQL, for operators and for the gateway's key lookup. */
export class PostgresAccountStore implements AccountStore, KeyStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async findByDigests(digests: readonly Buffer[]): Promise<ReadonlyMap<string, KeyRecord>> {
    const { rows } = await queryInTime<KeyRecordRow>(this.#pool, {
      name: "find_keys",
      text: findByDigestsSql,
      values: [digests],
    });
    return new Map(rows.map((row) => [row.digest, keyRecord(row)]));
  }

  async createOrg(
    org: { readonly orgId?: OrgId; readonly name: string; readonly email: string },
    by: ChangedBy,
  ): Promise<OrgSummary> {
    const { orgId = newOrgId(), name, email } = org;
    await this.#changes.write(by, async (client, note) => {
      // The operator vouches for the address of an organization made by hand.
      await client.query(CREATE_ORG_SQL, [orgId, name, email, true]);
      note(createdOrg(orgId, name, email));
    });
    const created = await this.findOrg(orgId);
    assert(created !== undefined, "a created organization is found");
    return created;
  }

  async listOrgs(): Promise<readonly OrgSummary[]> {
    const result = await this.#pool.query<Row>(`${SELECT_ORG_SQL} order by o.created_at, o.org_id`);
    return result.rows.map(orgColumns.read);
  }

  async findOrg(orgId: string): Promise<OrgSummary | undefined> {
    const result = await this.#pool.query<Row>(`${SELECT_ORG_SQL} where o.org_id = $1`, [orgId]);
    const row = result.rows[0];
    return row === undefined ? undefined : orgColumns.read(row);
  }

  async createKey(key: NewKey, by: ChangedBy): Promise<KeySummary> {
    return await this.#changes.write(by, (client, note) => createNotedKey(client, note, key));
  }

  async listKeys(orgId?: string): Promise<readonly KeySummary[]> {
    const result = await this.#pool.query<Row>(
      `select ${keyColumns.sql} from api_key where $1::text is null or org_id = $1
      order by created_at, key_id`,
      [orgId ?? null],
    );
    return result.rows.map(keyColumns.read);
  }

  async disableKey(keyId: string, by: ChangedBy): Promise<KeySummary | undefined> {
    return await this.#edit(keyId, { disable: true }, by);
  }

  async setOrgCap(orgId: string, capMicroUsd: MicroUsd | null, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, (client, note) =>
      changeOrgCap(client, note, { orgId, capMicroUsd }),
    );
  }

  async setKeyCap(
    keyId: string,
    capMicroUsd: MicroUsd | null,
    by: ChangedBy,
  ): Promise<KeySummary | undefined> {
    return await this.#edit(keyId, { caps: { month: capMicroUsd } }, by);
  }

  async editKey(keyId: string, edit: KeyEdit, by: ChangedBy): Promise<KeySummary | undefined> {
    return await this.#edit(keyId, edit, by);
  }

  async #edit(keyId: string, edit: KeyEdit, by: ChangedBy): Promise<KeySummary | undefined> {
    const asked = { keyIds: [keyId], edit, where: "true", values: [] };
    const edited = await this.#changes.write(by, (client, note) => editKeys(client, note, asked));
    return edited?.[0];
  }
}

const findByDigestsSql = keyRecordSql("k.digest = any ($1::bytea[])");

/** Of an organization `o` and its wallet `w`. */
const orgColumns: Columns<OrgSummary> = columns({
  orgId: text("org_id"),
  name: text("name"),
  email: text("email"),
  balanceMicroUsd: computed("w.credits - w.debits - w.owed", micro("balance")),
  heldMicroUsd: computed("w.reserved", micro("held")),
  createdAtMs: instantMs("created_at"),
});

const SELECT_ORG_SQL = `
  select ${orgColumns.sqlOf("o")}
  from org o join account w on w.account_id = 'wallet:' || o.org_id`;
