import type { PoolClient } from "pg";

import {
  type Change,
  type Facts,
  type Note,
  assert,
  type CapPeriod,
  type Caps,
  capsInUsd,
  instantOrNull,
  type KeyId,
  type MicroUsd,
  NO_CAPS,
  type OrgId,
  shownKeyId,
  usdOrNull,
  columns,
  micro,
  orNull,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { KeySummary, NewKey } from "./key-store.ts";
import { insertKey } from "./key-summary-rows.ts";

/** The action of a change of each cap. */
export const CAP_ACTIONS = {
  month: "key.cap",
  week: "key.week-cap",
  day: "key.day-cap",
} as const satisfies Caps<Change["action"]>;

export type KeyEditAction =
  | (typeof CAP_ACTIONS)[CapPeriod]
  | "key.rename"
  | "key.expiry"
  | "key.models"
  | "key.tags"
  | "key.disable";

/** What of a key its owners and operators change, before a change of it. */
export interface KeyBefore {
  readonly name: string;
  readonly caps: Caps;
  readonly disabledAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly models: readonly string[] | null;
  readonly tags: readonly string[];
}

/** Makes a key and notes it. */
export async function createNotedKey(
  client: PoolClient,
  note: Note,
  key: NewKey,
): Promise<KeySummary> {
  const made = await insertKey(client, key);
  note(createdKey(made));
  return made;
}

/** A key is in the log by its id, a managed one by its part: of its text, not even the first characters. */
export function createdKey(key: {
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly name: string;
  readonly origin: string;
  readonly requestsPerMinuteCeiling: number;
  readonly caps?: Caps;
  readonly expiresAtMs?: number | null;
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
}): Change {
  const { name, origin, keyId, orgId, expiresAtMs = null, models = null, tags = [] } = key;
  const { cap_usd, ...shorter } = capsInUsd(key.caps ?? NO_CAPS);
  const target = shownKeyId({ keyOrigin: origin, keyId });
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

/** What of a key an action is about, as the log says it. */
export function editedFacts(action: KeyEditAction, key: KeyBefore): Facts {
  return FACTS[action](key);
}

const FACTS: Readonly<Record<KeyEditAction, (key: KeyBefore) => Facts>> = {
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

/** A cap as the log says it. */
export function capFact(capMicroUsd: MicroUsd | null): { readonly cap_usd: string | null } {
  return { cap_usd: usdOrNull(capMicroUsd) };
}

/** The cap of an organization, and what it was. False: there is no such organization. */
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
