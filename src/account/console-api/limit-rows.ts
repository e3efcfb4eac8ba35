import {
  type OrgSummary,
  type KeySummary,
  type LimitedKey,
  type LimitRow,
  limitRows,
  orgLimitRows,
  type ScopeClaim,
  type StoredLimit,
} from "../../gateway/index.ts";
import type { KeyId } from "../../kernel/index.ts";
import { limitedKey, type LimitGround } from "./show-key.ts";

/** A scope of the organization under the name that people know it by. */
export interface NamedRow {
  readonly row: LimitRow;
  readonly name: string;
  readonly modelId: string | null;
  /** To look up what is used: the scope, and its window of before there is credit. */
  readonly claims: readonly ScopeClaim[];
}

/**
 * Every scope that can refuse a request of the organization: itself, each active key, and each
 * model that a limit is stored for. Limits of keys that are not given are left out.
 */
export function rowsOfOrganization(
  org: OrgSummary,
  keys: readonly KeySummary[],
  ground: LimitGround,
): readonly NamedRow[] {
  const { limits, limitDefaults } = ground;
  const whole = { orgId: org.orgId, funded: ground.isFunded, rules: { limits } };
  const rowsOf = (key: LimitedKey, modelId?: string): readonly LimitRow[] =>
    limitRows(key, modelId, limitDefaults);
  const orgRows = orgLimitRows(whole, undefined, limitDefaults);
  const orgModels = modelsOf(limits, undefined).flatMap((id) =>
    orgLimitRows(whole, id, limitDefaults)
      .filter(({ scope }) => scope === "model")
      .map((row) => named(row, id, id)),
  );
  const ofKeys = keys.map((summary) => ({ summary, key: limitedKey(summary, ground) }));
  const keyModels = ofKeys.flatMap(({ summary, key }) =>
    modelsOf(limits, key.keyId).flatMap((id) =>
      rowsOf(key, id)
        .filter(({ scope, keyId }) => scope === "model" && keyId === key.keyId)
        .map((row) => named(row, summary.name, id)),
    ),
  );
  const keyRows = ofKeys.flatMap(({ summary, key }) =>
    rowsOf(key)
      .filter(({ scope }) => scope === "key")
      .map((row) => named({ ...row, keyId: key.keyId }, summary.name)),
  );
  return [...orgRows.map((row) => named(row, org.name)), ...keyRows, ...orgModels, ...keyModels];
}

/** Models that a limit of the key, or without a key of the organization, is stored for. */
function modelsOf(limits: readonly StoredLimit[], ofKey: KeyId | undefined): readonly string[] {
  const ids = limits.flatMap(({ scope, keyId, modelId }) =>
    scope === "model" && modelId !== undefined && keyId === ofKey ? [modelId] : [],
  );
  return [...new Set(ids)].sort();
}

function named(row: LimitRow, name: string, modelId: string | null = null): NamedRow {
  const { scope, id, limits, unfundedRequestsPerMinute: requestsPerMinute } = row;
  const unfunded =
    requestsPerMinute === undefined
      ? []
      : [{ scope, id: unfundedId(row), limits: { requestsPerMinute } }];
  return { row, name, modelId, claims: [{ scope, id, limits }, ...unfunded] };
}

/** The window that counts until the organization holds credit. */
export function unfundedId({ id }: Pick<LimitRow, "id">): string {
  return `${id}#unfunded`;
}
