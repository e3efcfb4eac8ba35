import { setTimeout as sleep } from "node:timers/promises";

import {
  byGateway,
  type ChangedBy,
  type Clock,
  type Logger,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { AnswerFeed } from "./answer-feed.ts";
import { JUDGE_TOKENS_MAX } from "./estimate.ts";
import { endsMonthSoon, Pace, readVerdict, type SearchTask, SearchTasks } from "./search-tasks.ts";
import type { CallOutcome, EndedCall, ModelCaller } from "./model-caller.ts";
import type { OptimizeSearch, OptimizeStore, SearchEnd } from "./postgres-optimize-store.ts";
import { Tally } from "./tally.ts";

const WORKERS = 2;
const CALL_TRIES_MAX = 12;
const UNREACHABLE_MAX = 5;
const SEARCH_MS_MAX = 2 * 3_600_000;
const END_TRIES_MAX = 5;
const END_RETRY_MS = 1_000;

export const SEARCH_LEASE_MS = 20_000;
const KEEP_EVERY_MS = 2_000;

export interface RunOptions {
  readonly store: OptimizeStore;
  readonly caller: ModelCaller;
  readonly clock: Clock;
  readonly log: Logger;
  readonly callGapMs: number;
  readonly search: OptimizeSearch;
  /** The raw key of the search, which is stored nowhere. */
  readonly key: string;
  readonly prompts: readonly string[];
  readonly maxTokens: number;
}

type End = Pick<SearchEnd, "state" | "message">;

export class SearchRun {
  /** Resolves when the search awaits no call and, if possible, its end has been stored. */
  readonly done: Promise<void>;
  readonly feed: AnswerFeed = new AnswerFeed();
  readonly #options: RunOptions;
  readonly #tasks: SearchTasks;
  readonly #tally: Tally;
  readonly #pace: Pace;
  readonly #abort = new AbortController();
  readonly #inFlight = new Set<Promise<CallOutcome>>();
  readonly #startedMs: number;
  /** By the wall clock. The cap of the key bounds the search in this month only. */
  readonly #startedAtMs: number;
  #alone: Promise<unknown> | undefined;
  #callsDone = 0;
  #unreachable = 0;
  #keptMs: number;
  #end: End | undefined;
  #endedBy = byGateway("optimize");
  #isEndedElsewhere = false;

  constructor(options: RunOptions) {
    const { search, prompts, clock, callGapMs } = options;
    this.#options = options;
    const { searchId, modelIds, judgeModelId, objective } = search;
    this.#tasks = new SearchTasks({ searchId, prompts, modelIds, hasJudge: judgeModelId !== null });
    this.#tally = new Tally(objective, modelIds);
    this.#pace = new Pace(clock, callGapMs);
    this.#startedMs = clock.monotonicMs();
    this.#startedAtMs = clock.nowMs();
    this.#keptMs = this.#startedMs;
    this.done = this.#run();
  }

  /** Ends the search at once. Calls in flight are aborted; the gateway settles what it observed. */
  stop(end: End, by: ChangedBy): void {
    if (this.#end === undefined) this.#endedBy = by;
    this.#endWith(end);
  }

  async #run(): Promise<void> {
    const keeping = setInterval(() => void this.#keep(), KEEP_EVERY_MS).unref();
    try {
      await Promise.all(Array.from({ length: WORKERS }, () => this.#work()));
      this.#endWith({ state: "finished", message: null });
    } catch (fault) {
      this.#options.log.error({ err: fault }, "an optimize search failed");
      this.#endWith({ state: "failed", message: "the search met an unexpected fault" });
    }
    clearInterval(keeping);
    await this.#writeEnd();
  }

  async #work(): Promise<void> {
    for (;;) {
      const task = this.#end === undefined ? this.#tasks.take() : undefined;
      if (task === undefined) return;
      const outcome = await this.#ask(task);
      if (outcome === undefined) return;
      this.#count(task, outcome);
    }
  }

  /** Makes a call; repeats it later, or alone, if it was refused. Undefined if the search ended. */
  async #ask(task: SearchTask): Promise<EndedCall | undefined> {
    let mustBeAlone = false;
    for (let tries = 1; this.#mayGoOn(); tries += 1) {
      const outcome = mustBeAlone ? await this.#sendAlone(task) : await this.#send(task);
      if (this.#end !== undefined) return undefined;
      if (outcome.kind !== "unreachable") this.#unreachable = 0;
      switch (outcome.kind) {
        case "ended":
          return outcome;
        case "wait":
          if (tries >= CALL_TRIES_MAX) return FAILED_CALL;
          this.#pace.slowDown(outcome.waitMs);
          break;
        case "uncovered":
          // Other calls' holds may be the cause, so only a call that runs alone ends the search.
          if (mustBeAlone) this.#endWith(UNCOVERED_ENDS[outcome.by]);
          mustBeAlone = true;
          break;
        case "unusable":
          this.#endWith({ state: "failed", message: outcome.message });
          break;
        case "unreachable":
          this.#unreachable += 1;
          if (this.#unreachable < UNREACHABLE_MAX) return FAILED_CALL;
          this.#endWith({ state: "failed", message: "the gateway did not answer" });
      }
    }
    return undefined;
  }

  #mayGoOn(): boolean {
    const { clock } = this.#options;
    if (endsMonthSoon(clock.nowMs(), this.#startedAtMs)) {
      this.#endWith({ state: "interrupted", message: MONTH_END_MESSAGE });
    }
    if (clock.monotonicMs() - this.#startedMs > SEARCH_MS_MAX) {
      this.#endWith({ state: "interrupted", message: "the search took longer than two hours" });
    }
    return this.#end === undefined;
  }

  async #send(task: SearchTask): Promise<CallOutcome> {
    await this.#pace.turn(this.#abort.signal);
    // A further call that must run alone may have begun during a wait.
    while (this.#alone !== undefined) await this.#alone;
    return await this.#sendNow(task);
  }

  async #sendAlone(task: SearchTask): Promise<CallOutcome> {
    while (this.#alone !== undefined) await this.#alone;
    const sent = Promise.all(this.#inFlight).then(() => this.#sendNow(task));
    this.#alone = sent;
    try {
      return await sent;
    } finally {
      this.#alone = undefined;
    }
  }

  async #sendNow(task: SearchTask): Promise<CallOutcome> {
    // The waits for this call may have lasted longer than the search or its month.
    if (!this.#mayGoOn()) return { kind: "unreachable" };
    const { caller, key, search, maxTokens } = this.#options;
    const isJudge = task.kind === "judge";
    const call = caller.ask(
      {
        key,
        modelId: isJudge ? (search.judgeModelId ?? "") : task.modelId,
        prompt: this.#tasks.findPrompt(task),
        maxTokens: isJudge ? JUDGE_TOKENS_MAX : maxTokens,
      },
      this.#abort.signal,
    );
    this.#inFlight.add(call);
    try {
      return await call;
    } finally {
      this.#inFlight.delete(call);
    }
  }

  #count(task: SearchTask, outcome: EndedCall): void {
    this.#callsDone += 1;
    const { promptAt } = task;
    const { isAnswered, text, costMicroUsd, firstByteMs, totalMs } = outcome;
    if (task.kind === "judge") {
      const winner = isAnswered ? readVerdict(text, task.modelIds) : undefined;
      if (winner !== undefined) this.#tally.addVerdict(task.modelIds, winner);
      this.feed.push({ kind: "verdict", promptAt, winner: winner ?? null, costMicroUsd });
      return;
    }
    const { modelId } = task;
    this.#tally.addCall(modelId, outcome);
    const times = { firstByteMs, totalMs };
    const read = isAnswered ? text : null;
    this.feed.push({ kind: "answer", promptAt, modelId, text: read, costMicroUsd, ...times });
    if (this.#tasks.answered(promptAt, modelId, read ?? undefined)) this.#callsDone += 1;
  }

  async #keep(): Promise<void> {
    const { store, search, clock, log } = this.#options;
    const askedMs = clock.monotonicMs();
    try {
      const results = this.#tally.results();
      const progress = { callsDone: this.#callsDone, results };
      if (await store.keep(search.searchId, progress, SEARCH_LEASE_MS)) {
        this.#keptMs = askedMs;
        return;
      }
      if (this.#end !== undefined) return;
      this.#isEndedElsewhere = true;
      this.#endWith({ state: "stopped", message: null });
    } catch (fault) {
      log.warn({ err: fault, search_id: search.searchId }, "a search could not be written down");
      // Other processes may by now have declared the search dead and disabled its key.
      if (clock.monotonicMs() - this.#keptMs < SEARCH_LEASE_MS) return;
      this.#endWith({ state: "interrupted", message: "the database did not answer" });
    }
  }

  #endWith(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#abort.abort();
  }

  async #writeEnd(): Promise<void> {
    const { store, search, log } = this.#options;
    if (this.#end === undefined || this.#isEndedElsewhere) return;
    const end = { ...this.#end, callsDone: this.#callsDone, results: this.#tally.results() };
    for (let tries = 1; tries <= END_TRIES_MAX; tries += 1) {
      try {
        await store.end(search.searchId, end, this.#endedBy);
        return;
      } catch (fault) {
        log.warn({ err: fault, search_id: search.searchId }, "a search's end was not written");
        await sleep(END_RETRY_MS * tries);
      }
    }
  }
}

const FAILED_CALL: EndedCall = {
  kind: "ended",
  isAnswered: false,
  text: "",
  costMicroUsd: ZERO_MICRO_USD,
  firstByteMs: null,
  totalMs: null,
};

const UNCOVERED_ENDS: Readonly<Record<"budget" | "organization", End>> = {
  budget: {
    state: "over_budget",
    message: "what is left of the budget does not cover the most that the next call could cost",
  },
  organization: {
    state: "failed",
    message:
      "the balance or the organization's monthly cap does not cover the next call; " +
      "add credit or raise the cap, then start a new search",
  },
};
const MONTH_END_MESSAGE =
  "the UTC month ends: budgets count by the month; start a new search once the next one has begun";
