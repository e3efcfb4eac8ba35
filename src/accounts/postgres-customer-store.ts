import { randomBytes } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import type { CustomerOrg, CustomerStore } from "./customer-store.ts";
import type { KeySummary, NewKey } from "./key-store.ts";
import { assert } from "../core/assert.ts";
import { keysPerOrgMax, managedKeyRequestsPerMinute } from "../core/constants.ts";
import { newRecordId, type KeyId, type OrgId } from "../core/ids.ts";
import { microUsd, type MicroUsd } from "../core/money.ts";
import { keyColumns, keySummary, managedSql, type KeyRow } from "./key-summary-rows.ts";

const DIGEST_BYTES = 32;

/** What people do with their organization, in PostgreSQL. */
export class PostgresCustomerStore implements CustomerStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async findOrg(orgId: OrgId): Promise<CustomerOrg | undefined> {
    const { rows } = await this.#pool.query<OrgRow>(findOrgSql, [orgId]);
    return rows[0] === undefined ? undefined : customerOrg(rows[0]);
  }

  async renameOrg(orgId: OrgId, name: string): Promise<boolean> {
    const sql = "update org set name = $2 where org_id = $1";
    return (await this.#pool.query(sql, [orgId, name])).rowCount === 1;
  }

  async listKeys(orgId: OrgId): Promise<readonly KeySummary[]> {
    const { rows } = await this.#pool.query<KeyRow>(
      `select ${keyColumns} from api_key where org_id = $1 and not ${managedSql}
      order by created_at desc, key_id`,
      [orgId],
    );
    return rows.map(keySummary);
  }

  async findKey(orgId: OrgId, keyId: string): Promise<KeySummary | undefined> {
    return await this.#oneKey(`select ${keyColumns} from api_key where ${ownKeySql}`, [
      orgId,
      keyId,
    ]);
  }

  async createKey(key: NewKey): Promise<KeySummary | "too_many"> {
    const client = await this.#pool.connect();
    let isDone = false;
    try {
      await client.query("begin");
      const made = await createKey(client, key);
      await client.query("commit");
      isDone = true;
      return made;
    } finally {
      // After a fault the state of the connection is unknown.
      client.release(!isDone);
    }
  }

  async renameKey(orgId: OrgId, keyId: string, name: string): Promise<KeySummary | undefined> {
    return await this.#change("name = $3", [orgId, keyId, name]);
  }

  async setKeyCap(
    orgId: OrgId,
    keyId: string,
    capMicroUsd: MicroUsd | null,
  ): Promise<KeySummary | undefined> {
    return await this.#change("cap_micro_usd = $3", [orgId, keyId, capMicroUsd]);
  }

  async setOrgCap(orgId: OrgId, capMicroUsd: MicroUsd | null): Promise<boolean> {
    const sql = "update org set cap_micro_usd = $2 where org_id = $1";
    return (await this.#pool.query(sql, [orgId, capMicroUsd])).rowCount === 1;
  }

  async disableKey(orgId: OrgId, keyId: string): Promise<KeySummary | undefined> {
    return await this.#change("disabled_at = coalesce(disabled_at, now())", [orgId, keyId]);
  }

  async playgroundKey(orgId: OrgId): Promise<KeyId> {
    const known = await this.#findPlaygroundKey(orgId);
    if (known !== undefined) return known;
    await this.#pool.query(createPlaygroundKeySql, [
      newRecordId("key"),
      orgId,
      // Of no text that anybody knows: this key is never presented.
      randomBytes(DIGEST_BYTES),
      managedKeyRequestsPerMinute,
    ]);
    const made = await this.#findPlaygroundKey(orgId);
    assert(made !== undefined, "an organization has one Playground key after it was made");
    return made;
  }

  async #findPlaygroundKey(orgId: OrgId): Promise<KeyId | undefined> {
    const { rows } = await this.#pool.query<{ key_id: KeyId }>(findPlaygroundKeySql, [orgId]);
    return rows[0]?.key_id;
  }

  #change(set: string, values: unknown[]): Promise<KeySummary | undefined> {
    return this.#oneKey(
      `update api_key set ${set} where ${ownKeySql} returning ${keyColumns}`,
      values,
    );
  }

  async #oneKey(sql: string, values: unknown[]): Promise<KeySummary | undefined> {
    const { rows } = await this.#pool.query<KeyRow>(sql, values);
    return rows[0] === undefined ? undefined : keySummary(rows[0]);
  }
}

/** $1 organization, $2 key: a key that people may see. */
const ownKeySql = `org_id = $1 and key_id = $2 and not ${managedSql}`;

const findOrgSql = `
  select org_id, name, email, created_at, cap_micro_usd, funded_at is not null as is_funded,
    keys_may_set_org_limits
  from org where org_id = $1`;

const createKeySql = `
  insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling, cap_micro_usd)
  values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${keyColumns}`;

const createPlaygroundKeySql = `
  insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
  values ($1, $2, $3, 'playground', 'Playground', 'playground', $4)
  on conflict (org_id) where origin = 'playground' and disabled_at is null do nothing`;

const findPlaygroundKeySql = `
  select key_id from api_key
  where org_id = $1 and origin = 'playground' and disabled_at is null`;

/** Counted behind a lock, in a statement of its own: two at once do not both take the last place. */
async function createKey(client: PoolClient, key: NewKey): Promise<KeySummary | "too_many"> {
  const org = await client.query("select from org where org_id = $1 for no key update", [
    key.orgId,
  ]);
  assert(org.rowCount === 1, "a key is made for an organization that is there");
  const { rows: counted } = await client.query<{ keys: bigint }>(
    `select count(*) as keys from api_key where org_id = $1 and not ${managedSql}`,
    [key.orgId],
  );
  if (Number(counted[0]?.keys) >= keysPerOrgMax) return "too_many";
  const { rows } = await client.query<KeyRow>(createKeySql, [
    newRecordId("key"),
    key.orgId,
    key.digest,
    key.label,
    key.name,
    key.origin,
    key.requestsPerMinuteCeiling,
    key.capMicroUsd,
  ]);
  assert(rows[0] !== undefined, "a created key is returned");
  return keySummary(rows[0]);
}

interface OrgRow {
  readonly org_id: string;
  readonly name: string;
  readonly email: string;
  readonly created_at: Date;
  readonly cap_micro_usd: bigint | null;
  readonly is_funded: boolean;
  readonly keys_may_set_org_limits: boolean;
}

function customerOrg(row: OrgRow): CustomerOrg {
  return {
    orgId: row.org_id as OrgId,
    name: row.name,
    email: row.email,
    createdAtMs: row.created_at.getTime(),
    capMicroUsd: row.cap_micro_usd === null ? null : microUsd(row.cap_micro_usd),
    isFunded: row.is_funded,
    keysMaySetOrgLimits: row.keys_may_set_org_limits,
  };
}
