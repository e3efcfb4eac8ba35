import type { RedisLink } from "../../../kernel/index.ts";
import type { RecentCharge, RecentUse } from "../recent-use-rows.ts";
import { markKey, usageKey } from "./claim-spec.ts";

/** The most slots that this process refills at once, because the journal has other work too. */
const REBUILDS_AT_ONCE = 4;

/**
 * Refills slots that Redis has lost, from the journal. Concurrent calls for one slot share one
 * refill.
 */
export class SlotRebuild {
  readonly #link: Pick<RedisLink, "run">;
  readonly #recentUse: RecentUse;
  readonly #running: Map<string, Promise<void>> = new Map();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(link: Pick<RedisLink, "run">, recentUse: RecentUse) {
    this.#link = link;
    this.#recentUse = recentUse;
  }

  /** Resolves when the slot is complete; rejects if the journal or Redis does not answer. */
  rebuild(slot: string, now: string): Promise<void> {
    const running = this.#running.get(slot);
    if (running !== undefined) return running;
    const started = this.#refill(slot, now).finally(() => this.#running.delete(slot));
    this.#running.set(slot, started);
    return started;
  }

  async #refill(slot: string, now: string): Promise<void> {
    if (this.#busy === REBUILDS_AT_ONCE) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#busy += 1;
    }
    try {
      const { ids, rows } = toRows(await this.#recentUse.recentUse(slot));
      const keys = [markKey(slot), ...ids.map((id) => usageKey(slot, id))];
      await this.#link.run("rebuildLimits", keys, [now, JSON.stringify(rows)]);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy -= 1;
      else next();
    }
  }
}

interface Rows {
  readonly ids: readonly string[];
  /**
   * [index in `ids`, age in seconds, requests, tokens, prompt tokens, completion tokens]; each pair
   * of index and age occurs once.
   */
  readonly rows: readonly (readonly number[])[];
}

function toRows(charges: readonly RecentCharge[]): Rows {
  const ids: string[] = [];
  const places = new Map<string, number>();
  const sums = new Map<string, [number, number, number, number, number, number]>();
  for (const charge of charges) {
    for (const id of charge.scopeIds) {
      let place = places.get(id);
      if (place === undefined) {
        place = ids.push(id) - 1;
        places.set(id, place);
      }
      const name = `${place} ${charge.ageSeconds}`;
      const row = sums.get(name) ?? [place, Math.max(0, charge.ageSeconds), 0, 0, 0, 0];
      row[2] += charge.requests;
      row[3] += charge.tokens;
      row[4] += charge.promptTokens;
      row[5] += charge.completionTokens;
      sums.set(name, row);
    }
  }
  return { ids, rows: [...sums.values()] };
}
