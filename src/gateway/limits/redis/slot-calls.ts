import { type RedisLink, Turns } from "../../../kernel/index.ts";
import type { RecentCharge, RecentUse } from "../recent-use-rows.ts";
import { type ClaimSpec, markKey, usageKey } from "./claim-spec.ts";
import type { LimitScript } from "./limit-scripts.ts";

/** The most steps, or refreshed leases, in one call: a running script blocks all other calls. */
export const STEPS_MAX = 1_000;

export interface SlotStep {
  readonly kind: "claim" | "change";
  readonly size: number;
  write(call: SlotCall): string;
  /** Called when the script has taken the step; `answer` is set for a claim. */
  taken(answer: unknown): void;
  /** Called when the script call failed, so that it is unknown whether the script took the step. */
  failed(fault: unknown): void;
}

type Run = (
  script: LimitScript,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/**
 * Collects the steps for each slot during one turn of the event loop and sends them at its end, in
 * order, in one script call for each slot and `STEPS_MAX` steps. Waits for no timer and no answer.
 */
export class SlotCalls {
  readonly #run: Run;
  readonly #time: () => string;
  /** For each slot, the call that still accepts steps. */
  readonly #open: Map<string, SlotCall> = new Map();
  #unsent: SlotCall[] = [];

  /** `time` returns the script's time argument, which all steps of a call share. */
  constructor(run: Run, time: () => string) {
    this.#run = run;
    this.#time = time;
  }

  ask(slot: string, step: SlotStep): void {
    const time = this.#time();
    const open = this.#open.get(slot);
    const isOpen = open?.time === time && open.hasRoomFor(step);
    (isOpen ? open : this.#begin(slot, time)).add(step);
  }

  flush(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    this.#open.clear();
    for (const call of unsent) {
      this.#run(call.script, call.keys, [call.time, call.text()]).then(
        (answers) => call.taken(answers),
        (fault: unknown) => call.failed(fault),
      );
    }
  }

  #begin(slot: string, time: string): SlotCall {
    if (this.#unsent.length === 0) setImmediate(() => this.flush());
    const call = new SlotCall(slot, time);
    this.#open.set(slot, call);
    this.#unsent.push(call);
    return call;
  }
}

export class SlotCall {
  /** The slot's marker (absent if the slot was lost), then each named scope's usage and leases. */
  readonly keys: string[];
  readonly time: string;
  readonly #places: Map<string, number> = new Map();
  readonly #specs: Map<ClaimSpec, number> = new Map();
  readonly #specTexts: string[] = [];
  readonly #steps: SlotStep[] = [];
  readonly #stepTexts: string[] = [];
  #size = 0;

  constructor(slot: string, time: string) {
    this.keys = [markKey(slot)];
    this.time = time;
  }

  get script(): LimitScript {
    return this.#steps.some(({ kind }) => kind === "claim") ? "claimLimits" : "handBackLimits";
  }

  hasRoomFor({ size }: SlotStep): boolean {
    return this.#size + size <= STEPS_MAX;
  }

  add(step: SlotStep): void {
    this.#steps.push(step);
    this.#stepTexts.push(step.write(this));
    this.#size += step.size;
  }

  /** Adds the spec unless the call has it; returns the number by which steps name it. */
  spec(spec: ClaimSpec): number {
    const known = this.#specs.get(spec);
    if (known !== undefined) return known;
    const places: number[] = [];
    for (let at = 1; at < spec.keys.length; at += 2) {
      places.push(this.place(spec.keys[at] ?? "", spec.keys[at + 1] ?? ""));
    }
    const number = this.#specTexts.push(`[${spec.limits},[${places.join(",")}]]`);
    this.#specs.set(spec, number);
    return number;
  }

  /** Returns the index of a scope's usage in `KEYS`, from 1; its leases are at the next index. */
  place(usage: string, held: string): number {
    const known = this.#places.get(usage);
    if (known !== undefined) return known;
    const place = this.keys.push(usage);
    this.keys.push(held);
    this.#places.set(usage, place);
    return place;
  }

  text(): string {
    return `[[${this.#specTexts.join(",")}],[${this.#stepTexts.join(",")}]]`;
  }

  taken(answers: unknown): void {
    const ofClaims = Array.isArray(answers) ? answers.values() : [].values();
    for (const step of this.#steps) {
      step.taken(step.kind === "claim" ? ofClaims.next().value : undefined);
    }
  }

  failed(fault: unknown): void {
    for (const step of this.#steps) step.failed(fault);
  }
}

/** The most slots that are refilled at once, because the database serves other queries too. */
const REBUILDS_AT_ONCE = 4;

/** Refills slots that Redis has lost, from the journal. Calls for one slot share one refill. */
export class SlotRebuild {
  readonly #link: Pick<RedisLink, "run">;
  readonly #recentUse: RecentUse;
  readonly #onRefilled: (slot: string) => void;
  readonly #running: Map<string, Promise<void>> = new Map();
  readonly #turns = new Turns({ running: REBUILDS_AT_ONCE, waiting: Number.POSITIVE_INFINITY });

  /** `onRefilled` is called once for each refill, before the calls that wait for it go on. */
  constructor(
    link: Pick<RedisLink, "run">,
    recentUse: RecentUse,
    onRefilled: (slot: string) => void,
  ) {
    this.#link = link;
    this.#recentUse = recentUse;
    this.#onRefilled = onRefilled;
  }

  /** Resolves when the slot is refilled; rejects if the journal or Redis does not answer. */
  rebuild(slot: string, now: string): Promise<void> {
    const running = this.#running.get(slot);
    if (running !== undefined) return running;
    const started = this.#refill(slot, now).finally(() => this.#running.delete(slot));
    this.#running.set(slot, started);
    return started;
  }

  async #refill(slot: string, now: string): Promise<void> {
    const end = await this.#turns.take("all slots");
    try {
      const { ids, rows } = toRows(await this.#recentUse(slot));
      const keys = [markKey(slot), ...ids.map((id) => usageKey(slot, id))];
      await this.#link.run("rebuildLimits", keys, [now, JSON.stringify(rows)]);
      this.#onRefilled(slot);
    } finally {
      end?.();
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
