import type { PoolClient } from "pg";

import {
  assert,
  CAP_PERIODS,
  capColumn,
  type Caps,
  capsInUsd,
  type Change,
  createKeyId,
  type Facts,
  instantOrNull,
  marks,
  type MicroUsd,
  NO_CAPS,
  type Note,
  presentKeyId,
  readRows,
  usdOrNull,
} from "../../kernel/index.ts";
import { ACCOUNT_CHANNEL } from "./account-notices.ts";
import type { LimitTarget } from "../limits/limit-ceilings.ts";
import type { LimitChange } from "./account-rules.ts";
import { keyColumns, type KeySummary, type NewKey } from "./key-store.ts";

/** The changes to a key; an absent field stays as it is. */
export interface KeyEdit {
  readonly name?: string;
  /** Only the caps to change; null removes a cap. */
  readonly caps?: Partial<Caps>;
  /** Null: the key never expires. */
  readonly expiresAtMs?: number | null;
  /** Null: the key may call every model. */
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
  /** The new secret of one key. The old secret works until `oldUntilMs`; null ends it at once. */
  readonly rotate?: {
    readonly digest: Buffer;
    readonly label: string;
    readonly oldUntilMs: number | null;
  };
  /** Disables the key permanently; an earlier `disabled_at` stays. */
  readonly disable?: true;
  readonly limit?: { readonly target: LimitTarget; readonly change: LimitChange };
}

const CAP_ACTIONS = {
  month: "key.cap",
  week: "key.week-cap",
  day: "key.day-cap",
} as const satisfies Caps<Change["action"]>;

/** Does not check whether the organization has its maximum number of keys already. */
export async function createNotedKey(
  client: PoolClient,
  note: Note,
  key: NewKey,
): Promise<KeySummary> {
  const { expiresAtMs = null } = key;
  const [made] = await readRows(client, keyColumns, INSERT_KEY_SQL, [
    createKeyId(),
    key.orgId,
    key.digest,
    key.label,
    key.name,
    key.origin,
    key.requestsPerMinuteCeiling,
    expiresAtMs === null ? null : new Date(expiresAtMs),
    key.models ?? null,
    key.tags === undefined || key.tags.length === 0 ? null : key.tags,
    ...CAP_PERIODS.map((period) => key.caps?.[period] ?? null),
  ]);
  assert(made !== undefined, "a created key is returned");
  note(createdKey(made));
  return made;
}

/* Sends a notice, because other processes may have cached that this key does not exist. */
const INSERT_KEY_SQL = `
  insert into api_key
    (key_id, org_id, digest, label, name, origin, rpm_ceiling, expires_at, models, tags,
      ${CAP_PERIODS.map(capColumn).join(", ")})
  values (${marks(10 + CAP_PERIODS.length)})
  returning ${keyColumns.sql}, pg_notify('${ACCOUNT_CHANNEL}', org_id)`;

/** The change-log entry of a new key contains no part of its secret. */
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

const FACTS = {
  "key.rename": ({ name }) => ({ name }),
  [CAP_ACTIONS.month]: ({ caps }) => capFact(caps.month),
  [CAP_ACTIONS.week]: ({ caps }) => capFact(caps.week),
  [CAP_ACTIONS.day]: ({ caps }) => capFact(caps.day),
  "key.expiry": ({ expiresAtMs }) => expiryFact(expiresAtMs),
  "key.models": ({ models }) => ({ models }),
  "key.tags": ({ tags }) => ({ tags }),
  "key.disable": ({ disabledAtMs }) => ({ disabled_at: instantOrNull(disabledAtMs) }),
} as const satisfies Partial<Record<Change["action"], (key: KeySummary) => Facts>>;

type KeyEditAction = keyof typeof FACTS;

function expiryFact(expiresAtMs: number | null): { readonly expires_at: string | null } {
  return { expires_at: instantOrNull(expiresAtMs) };
}

export function capFact(capMicroUsd: MicroUsd | null): { readonly cap_usd: string | null } {
  return { cap_usd: usdOrNull(capMicroUsd) };
}

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
  // A changed cap locks the wallet, and an organization's row must be locked before its wallet.
  await client.query(
    `select from org
    where org_id in (select org_id from api_key where key_id = any ($1) and ${where})
    order by org_id for no key update`,
    [keyIds, ...values],
  );
  const locked = await readRows(
    client,
    keyColumns,
    `select ${keyColumns.sql} from api_key where key_id = any ($1) and ${where}
    order by key_id for no key update`,
    [keyIds, ...values],
  );
  if (locked.length !== keyIds.length) return undefined;
  const before = new Map(locked.map((key) => [key.keyId, key]));
  if (edit.rotate !== undefined) return await rotate(client, note, before, edit.rotate);
  const { sets, setValues, actions } = assignments(edit);
  if (sets.length === 0) return [...before.values()];
  const after = await readRows(
    client,
    keyColumns,
    `update api_key set ${sets.join(", ")} where key_id = any ($1) returning ${keyColumns.sql}`,
    [keyIds, ...setValues],
  );
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
  const values = [was.keyId, digest, label, until];
  const rotated = await readRows(client, keyColumns, ROTATE_SQL, values);
  const { orgId, keyId: target } = was;
  const after = { old_works_until: instantOrNull(oldUntilMs) };
  note({ action: "key.rotate", orgId, target, before: null, after });
  return rotated;
}

const ROTATE_SQL = `
  update api_key set digest = $2, label = $3, old_until = $4::timestamptz,
    old_digest = case when $4::timestamptz is null then null else digest end
  where key_id = $1 returning ${keyColumns.sql}`;

/** Returns the SQL assignments of an edit. $1 is the list of key ids, so the values start at $2. */
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
