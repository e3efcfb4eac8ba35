import { randomBytes } from "node:crypto";

import type { Pool } from "pg";

import type { KeyVault, SealedRow, SealedRows } from "../../gateway/index.ts";
import {
  type ChangedBy,
  type ChangeLog,
  columns,
  opaque,
  type OrgId,
  readRows,
  type RecordOf,
  text,
} from "../../kernel/index.ts";

const RANDOM_BYTES = 32;

/** A secret opens only for the destination and the organization for which it was sealed. */
type SecretOwner = Omit<RecordOf<typeof sealedColumns>, "sealed">;

/** The console shows a new secret once; only its sealed form is stored. */
export function createWebhookSecret(): string {
  return `whsec_${randomBytes(RANDOM_BYTES).toString("base64")}`;
}

export function sealSecret(vault: KeyVault, secret: string, owner: SecretOwner): Buffer {
  return vault.seal(secret, toVaultContext(owner));
}

/** Throws `SealedKeyFault` if the encryption key is gone or the secret is another destination's. */
export function openSecret(vault: KeyVault, sealed: Buffer, owner: SecretOwner): string {
  return vault.open(sealed, toVaultContext(owner));
}

/** Destination ids and connection ids differ, so a webhook secret never opens as a provider key. */
function toVaultContext({ destinationId, orgId }: SecretOwner): Parameters<KeyVault["open"]>[1] {
  return { connectionId: destinationId, orgId, providerId: "webhook" };
}

/** The webhook secrets of all organizations, for the commands `connection reseal` and `doctor`. */
export class PostgresWebhookSecrets implements SealedRows {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async listSealed(after: string, max: number): Promise<readonly SealedRow[]> {
    return (await readRows(this.#pool, sealedColumns, LIST_SQL, [after, max])).map(
      ({ sealed, ...owner }) => {
        return { id: owner.destinationId, sealed, context: toVaultContext(owner) };
      },
    );
  }

  async reseal(changed: Parameters<SealedRows["reseal"]>[0], by: ChangedBy): Promise<number> {
    return await this.#changes.write(by, async (client, note) => {
      let secrets = 0;
      for (const { id, sealed, resealed } of changed) {
        const { rowCount } = await client.query(RESEAL_SQL, [id, sealed, resealed]);
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

const sealedColumns = columns({
  destinationId: text("destination_id"),
  orgId: text<OrgId>("org_id"),
  sealed: opaque<Buffer>("sealed"),
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

/** Two sealed texts never have the same bytes, so only the column that contains $2 changes. */
const RESEAL_SQL = `
  update alert_destination set
    sealed_secret = case sealed_secret when $2 then $3 else sealed_secret end,
    former_secret = case former_secret when $2 then $3 else former_secret end
  where destination_id = $1 and (sealed_secret = $2 or former_secret = $2)`;
