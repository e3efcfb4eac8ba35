import type { Pool } from "pg";

import { assert } from "../core/assert.ts";
import type { Public } from "../core/defined.ts";
import type { OrgId } from "../core/ids.ts";
import {
  columns,
  computed,
  instantMs,
  opaque,
  orNull,
  type Row,
  text,
} from "../storage/columns.ts";
import { queryInTime } from "../storage/connection.ts";
import { findAction, SHOWN_ACTIONS } from "./actions.ts";
import type { Change, ChangedBy, RecordedChange } from "./change.ts";
import type { Facts } from "./change-words.ts";
import type { ChangeLog } from "./change-log.ts";
import type { ChangeFilter, ChangePageFilter } from "./change-chain.ts";

const BLOCK_ROWS = 500;
const LISTED_MAX = 10_000;
const RETIRED_AT_ONCE = 10_000;

export class PostgresChangeStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Lists changes, newest first. `before` is a position: only changes before it are listed. */
  async list(
    filter: ChangeFilter & { readonly before?: number; readonly limit: number },
  ): Promise<readonly RecordedChange[]> {
    assert(filter.limit <= LISTED_MAX, "a list is bounded");
    const values = [...filterValues(filter), null, filter.limit, filter.before ?? null];
    const older = "and ($6::bigint is null or position < $6)";
    return await this.#read(`${WHERE_SQL} ${older} order by position desc limit $5`, values);
  }

  /** Yields changes in blocks, oldest first. Each block is read when it is requested. */
  async *blocks(filter: ChangeFilter): AsyncGenerator<readonly RecordedChange[]> {
    for (let after = 0; ;) {
      const values = [...filterValues(filter), after, BLOCK_ROWS];
      const block = await this.#read(`${WHERE_SQL} order by position limit $5`, values);
      const last = block.at(-1);
      if (last === undefined) return;
      yield block;
      after = last.position;
    }
  }

  /** Reads an organization's log before a position, newest first, as its members may see it. */
  async page(
    of: ChangePageFilter & { readonly before?: number; readonly limit: number },
  ): Promise<readonly RecordedChange[]> {
    const { orgId, actionPrefix = "", by = null, untilMs, before = null, limit } = of;
    const actions = SHOWN_ACTIONS.filter((name) => name.startsWith(actionPrefix));
    const until = untilMs === undefined ? null : new Date(untilMs);
    const values = [orgId, actions, before, limit, by, until];
    const rows = await this.#read(PAGE_SQL, values);
    return rows.map(asSeenByOrganization);
  }

  /** Records an access that changes no data, such as an operator's look-up of a customer. */
  async record(change: Change, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (_client, note) => note(change));
  }

  /** Deletes rows older than `days`, records the deletion, and returns the number of rows. */
  async retire(days: number, by: ChangedBy): Promise<number> {
    let retired = 0;
    for (;;) {
      const gone = await this.#changes.write(by, async (client, note) => {
        const { rows } = await client.query<{ gone: bigint }>(RETIRE_SQL, [days, RETIRED_AT_ONCE]);
        const count = Number(rows[0]?.gone ?? 0n);
        const after = { rows: count, older_than_days: days };
        const target = "change log";
        if (count > 0) note({ action: "changes.retire", orgId: null, target, before: null, after });
        return count;
      });
      retired += gone;
      if (gone < RETIRED_AT_ONCE) return retired;
    }
  }

  async #read(rest: string, values: unknown[]): Promise<readonly RecordedChange[]> {
    const sql = `select ${changeColumns.sql} from change ${rest}`;
    const { rows } = await queryInTime<Row>(this.#pool, { text: sql, values });
    return rows.map(readChangeRow);
  }
}

export type ChangeStore = Public<PostgresChangeStore>;

/** Hides the author, unless it is an account or a key, and the facts that only operators see. */
function asSeenByOrganization(change: RecordedChange): RecordedChange {
  const { by, before, after } = change;
  const hides = findAction(change.action)?.hides ?? [];
  const isOwn = by.kind === "account" || by.kind === "key";
  const hidden = { kind: by.kind, id: "", requestId: null, clientNetwork: null };
  return {
    ...change,
    by: isOwn ? by : hidden,
    before: without(before, hides),
    after: without(after, hides),
  };
}

function without(facts: Facts | null, hides: readonly string[]): Facts | null {
  if (facts === null) return null;
  const shown = Object.entries(facts).filter(([name]) => !hides.includes(name));
  return shown.length === 0 ? null : Object.fromEntries(shown);
}

const changeColumns = columns({
  position: computed("position::text", text("position_text")),
  atMs: instantMs("at"),
  kind: text<ChangedBy["kind"]>("actor_kind"),
  id: text("actor_id"),
  action: text("action"),
  orgId: orNull(text<OrgId>("org_id")),
  target: text("target"),
  before: orNull(opaque<Facts>("before")),
  after: orNull(opaque<Facts>("after")),
  requestId: orNull(text("request_id")),
  clientNetwork: orNull(text("client_network")),
});

function readChangeRow(row: Row): RecordedChange {
  const { position, kind, id, requestId, clientNetwork, ...rest } = changeColumns.read(row);
  return { ...rest, position: Number(position), by: { kind, id, requestId, clientNetwork } };
}

const WHERE_SQL = `
  where ($1::text is null or org_id = $1) and ($2::timestamptz is null or at >= $2)
    and ($3::text is null or starts_with(action, $3)) and ($4::bigint is null or position > $4)`;

function filterValues({ orgId, sinceMs, actionPrefix }: ChangeFilter): unknown[] {
  return [orgId ?? null, sinceMs === undefined ? null : new Date(sinceMs), actionPrefix ?? null];
}

const PAGE_SQL = `
  where org_id = $1 and action = any ($2) and ($3::bigint is null or position < $3)
    and ($5::text is null or (actor_kind = 'account' and actor_id = $5))
    and ($6::timestamptz is null or at < $6)
  order by position desc limit $4`;

const RETIRE_SQL = "select retire_changes($1, $2) as gone";
