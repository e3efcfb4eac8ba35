import type { PoolClient } from "pg";

import {
  assert,
  CAP_PERIODS,
  capColumn,
  type CapPeriod,
  type Caps,
  capsInUsd,
  type Change,
  columns,
  type Facts,
  instantOrNull,
  micro,
  type MicroUsd,
  NO_CAPS,
  type Note,
  type OrgId,
  orNull,
  presentKeyId,
  type Row,
  text,
  usdOrNull,
} from "../../kernel/index.ts";
import type { KeyEdit } from "./account-store.ts";
import { insertKey, keyColumns, type KeySummary, type NewKey } from "./key-store.ts";

const CAP_ACTIONS = {
  month: "key.cap",
  week: "key.week-cap",
  day: "key.day-cap",
} as const satisfies Caps<Change["action"]>;

type KeyEditAction =
  | (typeof CAP_ACTIONS)[CapPeriod]
  | "key.rename"
  | "key.expiry"
  | "key.models"
  | "key.tags"
  | "key.disable";

export async function createNotedKey(
  client: PoolClient,
  note: Note,
  key: NewKey,
): Promise<KeySummary> {
  const made = await insertKey(client, key);
  note(createdKey(made));
  return made;
}

/**
 * Builds the change-log entry of a new key, which names the key by its id and contains no part of
 * its secret.
 */
export function createdKey(
  key: Pick<KeySummary, "keyId" | "orgId" | "name" | "origin" | "requestsPerMinuteCeiling"> &
    Partial<Pick<KeySummary, "caps" | "expiresAtMs" | "models" | "tags">>,
): Change {
  const { name, origin, keyId, orgId, expiresAtMs = null, models = null, tags = [] } = key;
  const { cap_usd, ...shorter } = capsInUsd(key.caps ?? NO_CAPS);
  const target = presentKeyId({ keyOrigin: origin, keyId });
  const after = {
    name,
    origin,
    rpm: key.requestsPerMinuteCeiling,
    cap_usd,
    ...(expiresAtMs === null ? {} : expiryFact(expiresAtMs)),
    ...(models === null ? {} : { models }),
    ...Object.fromEntries(Object.entries(shorter).filter(([, cap]) => cap !== null)),
    ...(tags.length === 0 ? {} : { tags }),
  };
  return { action: "key.create", orgId, target, before: null, after };
}

const FACTS: Readonly<Record<KeyEditAction, (key: KeySummary) => Facts>> = {
  "key.rename": ({ name }) => ({ name }),
  [CAP_ACTIONS.month]: ({ caps }) => capFact(caps.month),
  [CAP_ACTIONS.week]: ({ caps }) => capFact(caps.week),
  [CAP_ACTIONS.day]: ({ caps }) => capFact(caps.day),
  "key.expiry": ({ expiresAtMs }) => expiryFact(expiresAtMs),
  "key.models": ({ models }) => ({ models }),
  "key.tags": ({ tags }) => ({ tags }),
  "key.disable": ({ disabledAtMs }) => ({ disabled_at: instantOrNull(disabledAtMs) }),
};

function expiryFact(expiresAtMs: number | null): { readonly expires_at: string | null } {
  return { expires_at: instantOrNull(expiresAtMs) };
}

export function capFact(capMicroUsd: MicroUsd | null): { readonly cap_usd: string | null } {
  return { cap_usd: usdOrNull(capMicroUsd) };
}

export async function changeOrgCap(
  client: PoolClient,
  note: Note,
  asked: { readonly orgId: string; readonly capMicroUsd: MicroUsd | null },
): Promise<boolean> {
  const { rows } = await client.query<Row>(CHANGE_ORG_CAP_SQL, [asked.orgId, asked.capMicroUsd]);
  assert(rows.length <= 1, "an organization is there once");
  if (rows[0] === undefined) return false;
  const { orgId, capMicroUsd } = wasCap.read(rows[0]);
  const [before, after] = [capFact(capMicroUsd), capFact(asked.capMicroUsd)];
  note({ action: "org.cap", orgId, target: orgId, before, after });
  return true;
}

const wasCap = columns<{ readonly orgId: OrgId; readonly capMicroUsd: MicroUsd | null }>({
  orgId: text("org_id"),
  capMicroUsd: orNull(micro("was_cap")),
});

const CHANGE_ORG_CAP_SQL = `
  update org o set cap_micro_usd = $2
  from (
    select org_id, cap_micro_usd as was_cap from org where org_id = $1 for no key update
  ) was
  where o.org_id = was.org_id returning o.org_id, was_cap`;

/**
 * Changes all keys of `keyIds` and records each change. Returns undefined and changes nothing if a
 * key does not match `where`; the values of `where` start at $2.
 */
export async function editKeys(
  client: PoolClient,
  note: Note,
  asked: {
    readonly keyIds: readonly string[];
    readonly edit: KeyEdit;
    readonly where: string;
    readonly values: readonly unknown[];
  },
): Promise<readonly KeySummary[] | undefined> {
  const { edit, where, values } = asked;
  const keyIds = [...new Set(asked.keyIds)];
  // A changed cap locks the wallet, and rows of organizations are locked before wallets.
  await client.query(
    `select from org
    where org_id in (select org_id from api_key where key_id = any ($1) and ${where})
    order by org_id for no key update`,
    [keyIds, ...values],
  );
  const { rows: locked } = await client.query<Row>(
    `select ${keyColumns.sql} from api_key where key_id = any ($1) and ${where}
    order by key_id for no key update`,
    [keyIds, ...values],
  );
  if (locked.length !== keyIds.length) return undefined;
  const before = new Map(locked.map(keyColumns.read).map((key) => [key.keyId, key]));
  if (edit.rotate !== undefined) return await rotate(client, note, before, edit.rotate);
  const { sets, setValues, actions } = assignments(edit);
  if (sets.length === 0) return [...before.values()];
  const { rows } = await client.query<Row>(
    `update api_key set ${sets.join(", ")} where key_id = any ($1) returning ${keyColumns.sql}`,
    [keyIds, ...setValues],
  );
  const after = rows.map(keyColumns.read);
  for (const key of after) {
    const was = before.get(key.keyId) ?? key;
    for (const action of actions) {
      const facts = { before: FACTS[action](was), after: FACTS[action](key) };
      note({ action, orgId: key.orgId, target: key.keyId, ...facts });
    }
  }
  return after;
}

/** Replaces the secret of one key. The change log contains no part of either secret. */
async function rotate(
  client: PoolClient,
  note: Note,
  before: ReadonlyMap<string, KeySummary>,
  { digest, label, oldUntilMs }: NonNullable<KeyEdit["rotate"]>,
): Promise<readonly KeySummary[]> {
  const [was] = before.values();
  assert(was !== undefined && before.size === 1, "one key is rotated at a time");
  const until = oldUntilMs === null ? null : new Date(oldUntilMs);
  const { rows } = await client.query<Row>(ROTATE_SQL, [was.keyId, digest, label, until]);
  const { orgId, keyId: target } = was;
  const after = { old_works_until: instantOrNull(oldUntilMs) };
  note({ action: "key.rotate", orgId, target, before: null, after });
  return rows.map(keyColumns.read);
}

const ROTATE_SQL = `
  update api_key set digest = $2, label = $3, old_until = $4::timestamptz,
    old_digest = case when $4::timestamptz is null then null else digest end
  where key_id = $1 returning ${keyColumns.sql}`;

/** Returns the SQL assignments of an edit. $1 is the list of key ids, so they start at $2. */
function assignments(edit: KeyEdit): {
  readonly sets: readonly string[];
  readonly setValues: readonly unknown[];
  readonly actions: readonly KeyEditAction[];
} {
  const { expiresAtMs: at } = edit;
  const expires = at === undefined || at === null ? at : new Date(at);
  const tags = edit.tags?.length === 0 ? null : edit.tags;
  const edited: readonly (readonly [KeyEditAction, string, unknown])[] = [
    ["key.rename", "name", edit.name],
    ...CAP_PERIODS.map(
      (period) => [CAP_ACTIONS[period], capColumn(period), edit.caps?.[period]] as const,
    ),
    ["key.expiry", "expires_at", expires],
    ["key.models", "models", edit.models],
    ["key.tags", "tags", tags],
  ];
  const given = edited.filter(([, , value]) => value !== undefined);
  const sets = given.map(([, column], i) => `${column} = $${i + 2}`);
  const actions = given.map(([action]) => action);
  if (edit.disable === true) {
    sets.push("disabled_at = coalesce(disabled_at, now())");
    actions.push("key.disable");
  }
  return { sets, setValues: given.map(([, , value]) => value), actions };
}
