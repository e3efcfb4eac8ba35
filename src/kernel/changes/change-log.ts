import { createHash } from "node:crypto";

import type { Pool, PoolClient } from "pg";

import { assert } from "../core/assert.ts";
import type { Logger } from "../core/log.ts";
import { redactor } from "../core/redact.ts";
import { inTransaction } from "../storage/transaction.ts";
import type { Change, ChangedBy, RecordedChange } from "./change.ts";
import type { Facts } from "./change-words.ts";

/** Notes a change, which the running transaction records at its end. */
export type Note = (change: Change) => void;

export interface Changed<T> {
  readonly outcome: T;
  readonly by: ChangedBy;
  readonly changes: readonly Change[];
}

/** Runs transactions and records their changes in the same transaction. */
export class ChangeLog {
  readonly #pool: Pool;
  readonly #log: Pick<Logger, "info">;
  readonly #counts = new Map<string, number>();

  constructor(pool: Pool, log: Pick<Logger, "info">) {
    this.#pool = pool;
    this.#log = log;
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Runs `work` in one transaction, which then records the changes that `work` has noted. */
  async write<T>(
    by: ChangedBy,
    work: (client: PoolClient, note: Note) => Promise<T>,
    answerTimeoutMs?: number,
  ): Promise<T> {
    return await this.writeBy(async (client) => {
      const changes: Change[] = [];
      const outcome = await work(client, (change) => void changes.push(change));
      return { outcome, by, changes };
    }, answerTimeoutMs);
  }

  /** Like `write`, but `work` also returns who made the changes. */
  async writeBy<T>(
    work: (client: PoolClient) => Promise<Changed<T>>,
    answerTimeoutMs?: number,
  ): Promise<T> {
    const write = async (client: PoolClient) => {
      const { outcome, by, changes } = await work(client);
      return { outcome, recorded: await recordChanges(client, by, changes) };
    };
    const { outcome, recorded } = await inTransaction(this.#pool, write, answerTimeoutMs);
    this.announce(recorded);
    return outcome;
  }

  /** Logs one line per change. Call it after the commit. */
  announce(recorded: readonly RecordedChange[]): void {
    for (const { position, by, action, orgId, target, before, after } of recorded) {
      this.#counts.set(action, (this.#counts.get(action) ?? 0) + 1);
      const who = { actor_kind: by.kind, actor_id: by.id, request_id: by.requestId };
      const what = { action, target, before, after, client_network: by.clientNetwork };
      const line = { change: true, position, ...who, org_id: orgId, ...what };
      this.#log.info(line, `change: ${action}`);
    }
  }
}

/** Facts whose JSON text is longer, such as a large policy, are recorded only as a digest. */
const FACTS_CHARS_MAX = 8_000;
const ID_CHARS_MAX = 200;

/**
 * Writes change-log rows as the last step of the caller's transaction, so that a rollback also
 * removes the rows. The caller must pass the result to `announce` after the commit. Skips a change
 * whose `before` equals `after`, unless `isMaskedChange` is set.
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
    [JSON.stringify(rows, wholeText)],
  );
  assert(made.length === kept.length, "every change of a transaction is written");
  return kept.map((change, at) => {
    const row = made[at];
    assert(row !== undefined, "a written change has its position");
    return { ...change, by, position: Number(row.r_position), atMs: row.r_at.getTime() };
  });
}

/** Half of a surrogate pair, typed or left by `cut`: PostgreSQL refuses its escape in JSON. */
function wholeText(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed() : value;
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

/** Redacts keys, because people paste keys into fields for names. */
function safeFacts(facts: Facts | null): Facts | null {
  if (facts === null) return null;
  const text = safeText(JSON.stringify(facts));
  if (text.length <= FACTS_CHARS_MAX) return JSON.parse(text) as Facts;
  return { too_long_sha256: createHash("sha256").update(text).digest("hex") };
}

/** Compares the facts before secrets are redacted: one secret replaced by another is a change. */
function hasChanged({ before, after, isMaskedChange = false }: Change): boolean {
  return isMaskedChange || JSON.stringify(before) !== JSON.stringify(after);
}

/** Redacts keys. Neither a key nor its replacement contains a quote, so JSON stays valid. */
function safeText(text: string): string {
  return withoutVirtualKeys(text).replaceAll(PROVIDER_KEY, "[redacted]");
}

const withoutVirtualKeys = redactor([]);
/** Matches keys of the usual forms: `sk-…`, `sk_live_…`, `whsec_…`, `AIza…`, `gsk_…`. */
const PROVIDER_KEY = /\b(?:sk|pk|rk|gsk|xai|whsec|AIza)[-_]?[A-Za-z0-9_-]{16,}/g;

function cut(text: string): string {
  return text.slice(0, ID_CHARS_MAX);
}
