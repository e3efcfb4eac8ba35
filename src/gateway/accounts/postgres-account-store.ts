import { randomBytes } from "node:crypto";
import type { Pool, PoolClient } from "pg";

import {
  assert,
  byGateway,
  type ChangedBy,
  type ChangeLog,
  createKeyId,
  createOrgId,
  type Facts,
  type KeyId,
  KEYS_PER_ORG_MAX,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  type MicroUsd,
  type Note,
  type OrgId,
  type Public,
  queryInTime,
  readRows,
} from "../../kernel/index.ts";
import { changeLimit, keyRecord, type KeyRecordRow, keyRecordSql } from "./account-rules-rows.ts";
import { capFact, createdKey, createNotedKey, editKeys, type KeyEdit } from "./key-changes.ts";
import {
  keyColumns,
  type KeyRecord,
  type KeyStore,
  type KeySummary,
  MANAGED_SQL,
  type NewKey,
} from "./key-store.ts";
import {
  changeOrg,
  CREATE_ORG_SQL,
  createdOrg,
  ORG_AND_WALLET_SQL,
  orgColumns,
  type OrgSummary,
} from "./postgres-org-directory.ts";

const DIGEST_BYTES = 32;

/** The keys of one organization except its managed keys; or, for operators, all keys. */
export type Whose = OrgId | "anyone";

export class PostgresAccountStore implements KeyStore {
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
    const { orgId = createOrgId(), name, email } = org;
    await this.#changes.write(by, async (client, note) => {
      // `true`: the operator who creates the organization vouches for the e-mail address.
      await client.query(CREATE_ORG_SQL, [orgId, name, email, true]);
      note(createdOrg(orgId, name, email));
    });
    const created = await this.findOrg(orgId);
    assert(created !== undefined, "a created organization is found");
    return created;
  }

  async listOrgs(): Promise<readonly OrgSummary[]> {
    const sql = `${SELECT_ORG_SQL} order by o.created_at, o.org_id`;
    return await readRows(this.#pool, orgColumns, sql);
  }

  async findOrg(orgId: string): Promise<OrgSummary | undefined> {
    const sql = `${SELECT_ORG_SQL} where o.org_id = $1`;
    return (await readRows(this.#pool, orgColumns, sql, [orgId]))[0];
  }

  async renameOrg(orgId: OrgId, name: string, by: ChangedBy): Promise<boolean> {
    const toFacts = (value: string): Facts => ({ name: value });
    const change = { orgId, action: "org.rename", column: "name", value: name, toFacts } as const;
    return await this.#changes.write(by, (client, note) => changeOrg(client, note, change));
  }

  async setOrgCap(orgId: string, value: MicroUsd | null, by: ChangedBy): Promise<boolean> {
    const column = "cap_micro_usd";
    const change = { orgId, action: "org.cap", column, value, toFacts: capFact } as const;
    return await this.#changes.write(by, (client, note) => changeOrg(client, note, change));
  }

  async listKeys(orgId?: string): Promise<readonly KeySummary[]> {
    const sql = `select ${keyColumns.sql} from api_key where $1::text is null or org_id = $1
      order by created_at, key_id`;
    return await readRows(this.#pool, keyColumns, sql, [orgId ?? null]);
  }

  async listOwnKeys(orgId: OrgId): Promise<readonly KeySummary[]> {
    const sql = `select ${keyColumns.sql} from api_key where org_id = $1 and not ${MANAGED_SQL}
      order by created_at desc, key_id`;
    return await readRows(this.#pool, keyColumns, sql, [orgId]);
  }

  async findKey(whose: Whose, keyId: string): Promise<KeySummary | undefined> {
    const { where, values } = among(whose);
    const sql = `select ${keyColumns.sql} from api_key where key_id = $1 and ${where}`;
    return (await readRows(this.#pool, keyColumns, sql, [keyId, ...values]))[0];
  }

  async createKey(key: NewKey, by: ChangedBy): Promise<KeySummary> {
    return await this.#changes.write(by, (client, note) => createNotedKey(client, note, key));
  }

  async createOwnKey(key: NewKey, by: ChangedBy): Promise<KeySummary | "too_many"> {
    return await this.#changes.write(by, (client, note) => createOwnKey(client, note, key));
  }

  /** Changes all keys or none. Returns undefined if one of them is not visible to `whose`. */
  async editKeys(
    whose: Whose,
    keyIds: readonly string[],
    { limit, ...edit }: KeyEdit,
    by: ChangedBy,
  ): Promise<readonly KeySummary[] | undefined> {
    return await this.#changes.write(by, async (client, note) => {
      const edited = await editKeys(client, note, { keyIds, edit, ...among(whose) });
      const orgId = edited?.[0]?.orgId;
      if (orgId === undefined || limit === undefined) return edited;
      const stored = await changeLimit(client, note, { orgId, ...limit });
      assert(stored !== undefined, "a limit of a key that is there can be stored");
      return edited;
    });
  }

  /** The first call creates the key, without a usable secret. */
  async playgroundKey(orgId: OrgId): Promise<KeyId> {
    const known = await this.#findPlaygroundKey(orgId);
    if (known !== undefined) return known;
    await this.#changes.write(byGateway("playground"), async (client, note) => {
      const keyId = createKeyId();
      const rpm = MANAGED_KEY_REQUESTS_PER_MINUTE;
      // The digest is random and belongs to no known text, so no client can ever use the key.
      const digest = randomBytes(DIGEST_BYTES);
      const values = [keyId, orgId, digest, rpm];
      const { rowCount } = await client.query(CREATE_PLAYGROUND_KEY_SQL, values);
      if (rowCount === 0) return;
      const named = { keyId, orgId, name: "Playground", origin: "playground" } as const;
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
}

export type AccountStore = Public<PostgresAccountStore>;

/** SQL condition that selects the keys of `whose`; its values start at $2. */
function among(whose: Whose): { readonly where: string; readonly values: readonly OrgId[] } {
  return whose === "anyone"
    ? { where: "true", values: [] }
    : { where: `org_id = $2 and not ${MANAGED_SQL}`, values: [whose] };
}

const findByDigestsSql = keyRecordSql(
  "(k.digest = any ($1::bytea[]) or k.old_digest = any ($1::bytea[])) and s.digest = any ($1::bytea[])",
);

const SELECT_ORG_SQL = `select ${orgColumns.sqlOf("o")} ${ORG_AND_WALLET_SQL}`;

const CREATE_PLAYGROUND_KEY_SQL = `
  insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
  values ($1, $2, $3, 'playground', 'Playground', 'playground', $4)
  on conflict (org_id) where origin = 'playground' and disabled_at is null do nothing`;

const FIND_PLAYGROUND_KEY_SQL = `
  select key_id from api_key
  where org_id = $1 and origin = 'playground' and disabled_at is null`;

/** Counts under a lock, so that two concurrent calls cannot both create the last allowed key. */
async function createOwnKey(
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
