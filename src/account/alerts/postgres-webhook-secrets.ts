import {
  type Public,
  type ChangedBy,
  type ChangeLog,
  bool,
  columns,
  type Columns,
  opaque,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { Pool } from "pg";

import type { SealedSecret } from "./alert-store.ts";

/** Webhooks' secrets of all organizations, for `connection reseal` and `doctor`. */
export class PostgresWebhookSecrets {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** In the order of the destinations' ids, behind `after`; those of at most `max` destinations. */
  async listSealed(after: string, max: number): Promise<readonly SealedSecret[]> {
    const { rows } = await this.#pool.query<Row>(LIST_SQL, [after, max]);
    return rows.map(sealedColumns.read);
  }

  /** Replaces secrets that are as they were; answers how many. */
  async reseal(
    changed: readonly (SealedSecret & { readonly resealed: Buffer })[],
    by: ChangedBy,
  ): Promise<number> {
    return await this.#changes.write(by, async (client, note) => {
      let secrets = 0;
      for (const { destinationId, sealed, resealed, isFormer } of changed) {
        const values = [destinationId, sealed, resealed];
        const { rowCount } = await client.query(isFormer ? FORMER_SQL : CURRENT_SQL, values);
        secrets += rowCount ?? 0;
      }
      if (secrets > 0) {
        const after = { webhook_secrets: secrets };
        note({ action: "connection.reseal", orgId: null, target: "webhooks", before: null, after });
      }
      return secrets;
    });
  }
}

export type SealedSecretStore = Public<PostgresWebhookSecrets>;

const sealedColumns: Columns<SealedSecret> = columns<SealedSecret>({
  destinationId: text("destination_id"),
  orgId: text("org_id"),
  sealed: opaque("sealed"),
  isFormer: bool("is_former"),
});

const LIST_SQL = `
  select ${sealedColumns.sql} from (
    select destination_id, org_id, sealed_secret, former_secret, former_until
    from alert_destination
    where destination_id > $1 and sealed_secret is not null
    order by destination_id limit $2
  ) t cross join lateral (
    values (t.sealed_secret, false),
      (case when t.former_until > now() then t.former_secret end, true)
  ) s (sealed, is_former)
  where sealed is not null
  order by destination_id, is_former`;

const CURRENT_SQL = `
  update alert_destination set sealed_secret = $3
  where destination_id = $1 and sealed_secret = $2`;

const FORMER_SQL = `
  update alert_destination set former_secret = $3
  where destination_id = $1 and former_secret = $2`;
