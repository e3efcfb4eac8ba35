import { createHash } from "node:crypto";

import type { PoolClient } from "pg";

import { type Change, formatExactUsd, groupBy, picoUsd, type PicoUsd } from "../kernel/index.ts";
import type { PricePin } from "./ledger-store.ts";

const MILLION = 1_000_000n;
const LINES_MAX = 60;

/**
 * Returns the price changes of a new catalog: one change for each provider whose prices differ from
 * those of its last change, even if they return to earlier values. All instances load the same
 * catalog, and the first one records the changes.
 */
export async function priceChanges(
  client: PoolClient,
  pins: readonly PricePin[],
  added: ReadonlySet<string>,
): Promise<readonly Change[]> {
  const byProvider = groupBy(pins.filter(isPriced), ({ providerId }) => providerId);
  await client.query(LOCK_SQL);
  const { rows } = await client.query<LastRow>(LAST_SQL, [[...byProvider.keys()]]);
  const last = new Map(rows.map((row) => [row.target, row.sha256]));
  return [...byProvider].flatMap(([target, own]) => {
    const sha256 = pinsDigest(own);
    const before = last.get(target);
    if (before === sha256) return [];
    const lines = own.filter(({ pinId }) => added.has(pinId)).map(priceLine);
    return [
      {
        action: "price.change" as const,
        orgId: null,
        target,
        before: before === undefined ? null : { prices_sha256: before },
        after: { prices_sha256: sha256, new_usd_per_million_tokens: shortened(lines) },
      },
    ];
  });
}

interface LastRow {
  readonly target: string;
  readonly sha256: string;
}

/** The lock lets the second of two instances that start together find what the first recorded. */
const LOCK_SQL = "select pg_advisory_xact_lock(hashtext('tokenmarket catalog prices'))";

const LAST_SQL = `
  select distinct on (target) target, after ->> 'prices_sha256' as sha256
  from change where action = 'price.change' and target = any ($1)
  order by target, position desc`;

/** False for pins without token prices, such as those of customers' own provider keys. */
function isPriced({ prices }: PricePin): boolean {
  return prices.prompt > 0n || prices.completion > 0n;
}

function pinsDigest(pins: readonly PricePin[]): string {
  const names = new Set(pins.map(({ modelId, pinId }) => `${modelId} ${pinId}`));
  return createHash("sha256")
    .update([...names].toSorted().join("\n"))
    .digest("hex");
}

function priceLine({ modelId, prices }: PricePin): string {
  return `${modelId}: input ${perMillion(prices.prompt)}, output ${perMillion(prices.completion)}`;
}

function perMillion(pico: bigint): string {
  const amount: PicoUsd = picoUsd(pico * MILLION);
  return formatExactUsd(amount).replace(/\.?0+$/, "");
}

function shortened(lines: readonly string[]): readonly string[] {
  const once = [...new Set(lines)].toSorted();
  if (once.length <= LINES_MAX) return once;
  return [...once.slice(0, LINES_MAX), `and ${once.length - LINES_MAX} more`];
}
