import { createHash } from "node:crypto";

import type { PoolClient } from "pg";

import { assert } from "../core/assert.ts";
import { redactor } from "../core/redact.ts";
import type { Change, ChangedBy, Facts, RecordedChange } from "./change.ts";

/** A policy or a list may be long; what is longer is kept by its digest. */
const FACTS_CHARS_MAX = 8_000;
const ID_CHARS_MAX = 200;

/**
 * Writes changes in the transaction of the caller, as its last step: what rolls it back takes them
 * along. Answers what was written: the caller announces it after the commit. A change of nothing is
 * none.
 */
export async function recordChanges(
  client: Pick<PoolClient, "query">,
  by: ChangedBy,
  changes: readonly Change[],
): Promise<readonly RecordedChange[]> {
  const kept = changes.filter(hasChanged).map(safeChange);
  if (kept.length === 0) return [];
  const rows = kept.map((change) => ({
    actor_kind: by.kind,
    actor_id: cut(safeText(by.id)),
    org_id: change.orgId,
    action: change.action,
    target: change.target,
    before: change.before,
    after: change.after,
    request_id: by.requestId,
    client_network: by.clientNetwork,
  }));
  const { rows: made } = await client.query<{ r_position: bigint; r_at: Date }>(
    "select r_position, r_at from record_changes($1)",
    [JSON.stringify(rows)],
  );
  assert(made.length === kept.length, "every change of a transaction is written");
  return kept.map((change, at) => {
    const row = made[at];
    assert(row !== undefined, "a written change has its position");
    return { ...change, by, position: Number(row.r_position), atMs: row.r_at.getTime() };
  });
}

function safeChange(change: Change): Change {
  const { before, after, target } = change;
  return {
    ...change,
    target: cut(safeText(target)),
    before: safeFacts(before),
    after: safeFacts(after),
  };
}

/** Names are typed by people, who paste keys into the wrong field. */
function safeFacts(facts: Facts | null): Facts | null {
  if (facts === null) return null;
  const text = safeText(JSON.stringify(facts));
  if (text.length <= FACTS_CHARS_MAX) return JSON.parse(text) as Facts;
  return { too_long_sha256: createHash("sha256").update(text).digest("hex") };
}

/** Before secrets are taken out: two different ones are a change too. */
function hasChanged({ before, after, isMaskedChange = false }: Change): boolean {
  return isMaskedChange || JSON.stringify(before) !== JSON.stringify(after);
}

/** No quote in what it puts in or takes out: JSON stays JSON. */
function safeText(text: string): string {
  return withoutVirtualKeys(text).replaceAll(PROVIDER_KEY, "[redacted]");
}

const withoutVirtualKeys = redactor([]);
/** Keys of the usual forms: `sk-…`, `sk_live_…`, `whsec_…`, `AIza…`, `gsk_…`. */
const PROVIDER_KEY = /\b(?:sk|pk|rk|gsk|xai|whsec|AIza)[-_]?[A-Za-z0-9_-]{16,}/g;

function cut(text: string): string {
  return text.slice(0, ID_CHARS_MAX);
}
