import type { PoolClient } from "pg";

import {
  type Note,
  assert,
  CAP_PERIODS,
  instantOrNull,
  capColumn,
  type Row,
} from "../../kernel/index.ts";
import type { KeyEdit } from "./account-store.ts";
import { CAP_ACTIONS, editedFacts, type KeyBefore, type KeyEditAction } from "./key-changes.ts";
import type { KeySummary } from "./key-store.ts";
import { keyColumns } from "./key-summary-rows.ts";

/**
 * Changes all of these keys, and notes what was changed of each, or none: undefined when one of
 * them is not among `where`, whose values begin at $2 behind the ids.
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
    const was: KeyBefore = before.get(key.keyId) ?? key;
    for (const action of actions) {
      const facts = { before: editedFacts(action, was), after: editedFacts(action, key) };
      note({ action, orgId: key.orgId, target: key.keyId, ...facts });
    }
  }
  return after;
}

/** The log has until when the old secret works; of neither secret, not even the first characters. */
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

/** $1 are the ids. */
function assignments(edit: KeyEdit): {
  readonly sets: readonly string[];
  readonly setValues: readonly unknown[];
  readonly actions: readonly KeyEditAction[];
} {
  const { expiresAtMs: at } = edit;
  const expires = at === undefined || at === null ? at : new Date(at);
  const tags = edit.tags?.length === 0 ? null : edit.tags;
  const columns: readonly (readonly [KeyEditAction, string, unknown])[] = [
    ["key.rename", "name", edit.name],
    ...CAP_PERIODS.map(
      (period) => [CAP_ACTIONS[period], capColumn(period), edit.caps?.[period]] as const,
    ),
    ["key.expiry", "expires_at", expires],
    ["key.models", "models", edit.models],
    ["key.tags", "tags", tags],
  ];
  const given = columns.filter(([, , value]) => value !== undefined);
  const sets = given.map(([, column], i) => `${column} = $${i + 2}`);
  const actions = given.map(([action]) => action);
  if (edit.disable !== true) return { sets, setValues: given.map(([, , v]) => v), actions };
  return {
    sets: [...sets, "disabled_at = coalesce(disabled_at, now())"],
    setValues: given.map(([, , value]) => value),
    actions: [...actions, "key.disable"],
  };
}
