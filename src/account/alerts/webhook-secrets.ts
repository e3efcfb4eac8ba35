import { randomBytes } from "node:crypto";

import type { Pool } from "pg";

import type { KeyVault } from "../../gateway/index.ts";
import {
  bool,
  type ChangedBy,
  type ChangeLog,
  type Columns,
  columns,
  opaque,
  type OrgId,
  type Public,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { SealedSecret } from "./alert-store.ts";

const RANDOM_BYTES = 32;

/** Whose secret it is: it opens for these two alone. */
export interface SecretOwner {
  readonly destinationId: string;
  readonly orgId: OrgId;
}

/** A new secret, in the form in which the customer is shown it once. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(RANDOM_BYTES).toString("base64")}`;
}

export function sealSecret(vault: KeyVault, secret: string, owner: SecretOwner): Buffer {
  return vault.seal(secret, contextOf(owner));
}

/** Throws a `SealedKeyFault` when it was not sealed for this destination or its key is gone. */
export function openSecret(vault: KeyVault, sealed: Buffer, owner: SecretOwner): string {
  return vault.open(sealed, contextOf(owner));
}

/** The name of the encryption key that opens it; undefined: none of them does. */
function secretSealedBy(vault: KeyVault, sealed: Buffer, owner: SecretOwner): string | undefined {
  return vault.sealedBy(sealed, contextOf(owner));
}

/** Ids of destinations begin otherwise than those of connections, so neither opens as the other. */
function contextOf({ destinationId, orgId }: SecretOwner): Parameters<KeyVault["open"]>[1] {
  return { connectionId: destinationId, orgId, providerId: "webhook" };
}

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

const BATCH = 200;

interface Resealed {
  /** Now sealed with the first key. */
  readonly resealed: number;
  /** Were so before. */
  readonly kept: number;
  /** Ids of destinations whose secret no key of the ring opens; they are not changed. */
  readonly unopened: readonly string[];
}

/** Seals every secret of a webhook with the first encryption key, while deliveries go on. */
export async function resealWebhooks(
  store: SealedSecretStore,
  vault: KeyVault,
  by: ChangedBy,
): Promise<Resealed> {
  let [resealed, kept] = [0, 0];
  const unopened = new Set<string>();
  for await (const batch of batches(store)) {
    const others: (SealedSecret & { resealed: Buffer })[] = [];
    for (const each of batch) {
      const name = secretSealedBy(vault, each.sealed, each);
      if (name === undefined) unopened.add(each.destinationId);
      else if (name === vault.keyNames[0]) kept += 1;
      else {
        const secret = openSecret(vault, each.sealed, each);
        others.push({ ...each, resealed: sealSecret(vault, secret, each) });
      }
    }
    if (others.length > 0) resealed += await store.reseal(others, by);
  }
  return { resealed, kept, unopened: [...unopened] };
}

/** How many secrets each encryption key sealed, by its name; "unknown": none of the ring did. */
export async function countWebhooksSealedBy(
  store: SealedSecretStore,
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const batch of batches(store)) {
    for (const each of batch) {
      const name = secretSealedBy(vault, each.sealed, each) ?? "unknown";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function* batches(store: SealedSecretStore): AsyncGenerator<readonly SealedSecret[]> {
  let after = "";
  while (true) {
    const batch = await store.listSealed(after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    after = last.destinationId;
  }
}
