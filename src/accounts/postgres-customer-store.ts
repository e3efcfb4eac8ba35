import { randomBytes } from "node:crypto";

import type { Pool, PoolClient } from "pg";

import { byGateway, type ChangedBy, type ChangeLog, type Note } from "../changes/index.ts";
import {
  assert,
  type KeyId,
  KEYS_PER_ORG_MAX,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  type MicroUsd,
  newKeyId,
  type OrgId,
} from "../core/index.ts";
import {
  bool,
  columns,
  type Columns,
  computed,
  instantMs,
  micro,
  orNull,
  type Row,
  text,
} from "../storage/index.ts";
import type { CustomerKeyEdit, CustomerOrg, CustomerStore } from "./customer-store.ts";
import type { KeyEdit, KeySummary, NewKey } from "./key-store.ts";
import { changeLimit } from "./change-limit.ts";
import { editKeys } from "./edit-keys.ts";
import { changeOrgCap, createdKey, createNotedKey } from "./key-changes.ts";
import { keyColumns, MANAGED_SQL } from "./key-summary-rows.ts";

const DIGEST_BYTES = 32;

/** What people do with their organization, in PostgreSQL. */
export class PostgresCustomerStore implements CustomerStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async findOrg(orgId: OrgId): Promise<CustomerOrg | undefined> {
    const { rows } = await this.#pool.query<Row>(FIND_ORG_SQL, [orgId]);
    return rows[0] === undefined ? undefined : orgColumns.read(rows[0]);
  }

  async renameOrg(orgId: OrgId, name: string, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      const { rows } = await client.query<{ was_name: string }>(RENAME_ORG_SQL, [orgId, name]);
      const [was] = rows;
      if (was === undefined) return false;
      const before = { name: was.was_name };
      note({ action: "org.rename", orgId, target: orgId, before, after: { name } });
      return true;
    });
  }

  async listKeys(orgId: OrgId): Promise<readonly KeySummary[]> {
    const { rows } = await this.#pool.query<Row>(
      `select ${keyColumns.sql} from api_key where org_id = $1 and not ${MANAGED_SQL}
      order by created_at desc, key_id`,
      [orgId],
    );
    return rows.map(keyColumns.read);
  }

  async findKey(orgId: OrgId, keyId: string): Promise<KeySummary | undefined> {
    return await this.#oneKey(`select ${keyColumns.sql} from api_key where ${OWN_KEY_SQL}`, [
      orgId,
      keyId,
    ]);
  }

  async createKey(key: NewKey, by: ChangedBy): Promise<KeySummary | "too_many"> {
    return await this.#changes.write(by, (client, note) => createKey(client, note, key));
  }

  async editKeys(
    orgId: OrgId,
    keyIds: readonly string[],
    { limit, ...edit }: CustomerKeyEdit,
    by: ChangedBy,
  ): Promise<readonly KeySummary[] | undefined> {
    return await this.#edit(orgId, { keyIds, edit, limit, by });
  }

  async setOrgCap(orgId: OrgId, capMicroUsd: MicroUsd | null, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, (client, note) =>
      changeOrgCap(client, note, { orgId, capMicroUsd }),
    );
  }

  async disableKey(orgId: OrgId, keyId: string, by: ChangedBy): Promise<KeySummary | undefined> {
    return (await this.#edit(orgId, { keyIds: [keyId], edit: { disable: true }, by }))?.[0];
  }

  async playgroundKey(orgId: OrgId): Promise<KeyId> {
    const known = await this.#findPlaygroundKey(orgId);
    if (known !== undefined) return known;
    await this.#changes.write(byGateway("playground"), async (client, note) => {
      const keyId = newKeyId();
      const rpm = MANAGED_KEY_REQUESTS_PER_MINUTE;
      // Of no text that anybody knows: this key is never presented.
      const digest = randomBytes(DIGEST_BYTES);
      const values = [keyId, orgId, digest, rpm];
      const { rowCount } = await client.query(CREATE_PLAYGROUND_KEY_SQL, values);
      if (rowCount === 0) return;
      const named = { keyId, orgId, name: "Playground", origin: "playground" };
      note(createdKey({ ...named, requestsPerMinuteCeiling: rpm }));
    });
    const made = await this.#findPlaygroundKey(orgId);
    assert(made !== undefined, "an organization has one Playground key after it was made");
    return made;
  }

  async #findPlaygroundKey(orgId: OrgId): Promise<KeyId | undefined> {
    const { rows } = await this.#pool.query<{ key_id: KeyId }>(FIND_PLAYGROUND_KEY_SQL, [orgId]);
    return rows[0]?.key_id;
  }

  async #edit(
    orgId: OrgId,
    asked: {
      readonly keyIds: readonly string[];
      readonly edit: KeyEdit;
      readonly limit?: CustomerKeyEdit["limit"] | undefined;
      readonly by: ChangedBy;
    },
  ): Promise<readonly KeySummary[] | undefined> {
    const { keyIds, edit, limit, by } = asked;
    const wanted = { keyIds, edit, where: OWN_KEYS_SQL, values: [orgId] };
    return await this.#changes.write(by, async (client, note) => {
      const edited = await editKeys(client, note, wanted);
      // Nothing was changed: there is nothing to take back.
      if (edited === undefined || limit === undefined) return edited;
      const stored = await changeLimit(client, note, { orgId, ...limit });
      assert(stored !== undefined, "a limit of a key that is there can be stored");
      return edited;
    });
  }

  async #oneKey(sql: string, values: unknown[]): Promise<KeySummary | undefined> {
    const { rows } = await this.#pool.query<Row>(sql, values);
    return rows[0] === undefined ? undefined : keyColumns.read(rows[0]);
  }
}

/** $1 organization, $2 key: a key that people may see. */
const OWN_KEY_SQL = `org_id = $1 and key_id = $2 and not ${MANAGED_SQL}`;
/** $2 organization. */
const OWN_KEYS_SQL = `org_id = $2 and not ${MANAGED_SQL}`;

const orgColumns: Columns<CustomerOrg> = columns({
  orgId: text("org_id"),
  name: text("name"),
  email: text("email"),
  createdAtMs: instantMs("created_at"),
  capMicroUsd: orNull(micro("cap_micro_usd")),
  isFunded: computed("funded_at is not null", bool("is_funded")),
  keysMaySetOrgLimits: bool("keys_may_set_org_limits"),
});

const RENAME_ORG_SQL = `
  update org o set name = $2
  from (select org_id, name as was_name from org where org_id = $1 for no key update) was
  where o.org_id = was.org_id returning was_name`;

const FIND_ORG_SQL = `
  select ${orgColumns.sql} from org where org_id = $1`;

const CREATE_PLAYGROUND_KEY_SQL = `
  insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
  values ($1, $2, $3, 'playground', 'Playground', 'playground', $4)
  on conflict (org_id) where origin = 'playground' and disabled_at is null do nothing`;

const FIND_PLAYGROUND_KEY_SQL = `
  select key_id from api_key
  where org_id = $1 and origin = 'playground' and disabled_at is null`;

/** Counted behind a lock, in a statement of its own: two at once do not both take the last place. */
async function createKey(
  client: PoolClient,
  note: Note,
  key: NewKey,
): Promise<KeySummary | "too_many"> {
  const org = await client.query("select from org where org_id = $1 for no key update", [
    key.orgId,
  ]);
  assert(org.rowCount === 1, "a key is made for an organization that is there");
  const { rows: counted } = await client.query<{ keys: bigint }>(
    `select count(*) as keys from api_key where org_id = $1 and not ${MANAGED_SQL}`,
    [key.orgId],
  );
  if (Number(counted[0]?.keys) >= KEYS_PER_ORG_MAX) return "too_many";
  return await createNotedKey(client, note, key);
}
