import { createVirtualKey, type Principal } from "../../gateway/index.ts";
import {
  byGateway,
  type ChangedBy,
  type Clock,
  Job,
  type Logger,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  createKeyId,
  createRecordId,
  type OrgId,
  type Public,
  Turns,
  warnWith,
} from "../../kernel/index.ts";
import { type FedEvents, HeldFeeds } from "./answer-feed.ts";
import { estimateSearch, type Quote } from "./estimate.ts";
import type { ModelCaller } from "./model-caller.ts";
import { endsMonthSoon } from "./search-tasks.ts";
import type {
  NewSearch,
  OptimizeRefusal,
  OptimizeSearch,
  OptimizeStore,
  SearchEstimate,
  WantedCalls,
  WantedSearch,
} from "./postgres-optimize-store.ts";
import { type RunOptions, SEARCH_LEASE_MS, SearchRun } from "./search-run.ts";

const RUNNING_PER_ORG_MAX = 2;
const RUNNING_MAX = 20;
/** Leaves the rest to organizations that had credit: others can be made for free, in any number. */
const RUNNING_UNFUNDED_MAX = RUNNING_MAX / 2;
const ESTIMATING_MAX = 4;
const MAX_TOKENS_DEFAULT = 512;
const SWEEP_EVERY_MS = 10_000;
const SHUT_DOWN = { state: "interrupted", message: "the program was shut down" } as const;

export interface OptimizeOptions {
  readonly store: OptimizeStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly caller: ModelCaller;
  readonly isChatModel: (modelId: string) => boolean;
  readonly isFunded: (orgId: OrgId) => Promise<boolean>;
  /** The least time between the starts of two calls of a search, unless a call has to run alone. */
  readonly callGapMs: number;
  readonly quote: Quote;
}

/**
 * Each search has a managed key, whose cap is the budget and which is disabled when the search
 * ends. A method that gets an organization treats other organizations' searches as unknown. A job
 * ends searches whose process has died as `interrupted`.
 */
export class OptimizeRuns {
  readonly #options: OptimizeOptions;
  readonly #runs = new Map<string, SearchRun>();
  readonly #unfunded = new Turns({ running: RUNNING_UNFUNDED_MAX, waiting: 0 });
  readonly #feeds = new HeldFeeds(RUNNING_MAX);
  readonly #sweeping: Job;
  #estimating = 0;
  #isClosed = false;

  constructor(options: OptimizeOptions) {
    this.#options = options;
    const failed = warnWith(options.log, "abandoned Optimize searches could not be listed");
    this.#sweeping = new Job(SWEEP_EVERY_MS, () => this.#sweep(), failed);
    this.#sweeping.startNow();
  }

  list(orgId: OrgId, max?: null): Promise<readonly OptimizeSearch[]> {
    return this.#options.store.list(orgId, max);
  }

  find(orgId: OrgId, searchId: string): Promise<OptimizeSearch | undefined> {
    return this.#options.store.find(orgId, searchId);
  }

  async start(
    orgId: OrgId,
    wanted: WantedSearch,
    by: ChangedBy,
  ): Promise<{ readonly kind: "started"; readonly search: OptimizeSearch } | OptimizeRefusal> {
    const refusal = this.#findRefusal(wanted);
    if (refusal !== undefined) return refusal;
    const isFunded = await this.#options.isFunded(orgId);
    const end = isFunded ? () => undefined : await this.#unfunded.take("all");
    if (end === undefined) return TOO_MANY;
    try {
      return await this.#begin(orgId, wanted, by, end);
    } catch (fault) {
      end();
      throw fault;
    }
  }

  async #begin(orgId: OrgId, wanted: WantedSearch, by: ChangedBy, end: () => void) {
    const { raw, ...stored } = createVirtualKey();
    const { prompts, modelIds, judgeModelId } = wanted;
    const begun: NewSearch = {
      ...wanted,
      searchId: createRecordId("search"),
      orgId,
      prompts: prompts.length,
      callsPlanned: prompts.length * (modelIds.length + (judgeModelId === null ? 0 : 1)),
      key: { keyId: createKeyId(), ...stored, requestsPerMinute: MANAGED_KEY_REQUESTS_PER_MINUTE },
      leaseMs: SEARCH_LEASE_MS,
    };
    const search = await this.#options.store.begin(begun, RUNNING_PER_ORG_MAX, by);
    if (search === "too_many") {
      end();
      const message = `${RUNNING_PER_ORG_MAX} searches are running; wait for one to end, or stop it`;
      return { kind: "refused", code: "conflict", message } as const;
    }
    const maxTokens = wanted.maxTokens ?? MAX_TOKENS_DEFAULT;
    this.#run(search, { key: raw, prompts, maxTokens, by }, end);
    return { kind: "started", search } as const;
  }

  /** Estimates the highest cost of a search; creates and sends nothing. */
  async estimate(
    principal: Principal,
    wanted: WantedCalls,
  ): Promise<{ readonly kind: "estimated"; readonly estimate: SearchEstimate } | OptimizeRefusal> {
    if (this.#estimating >= ESTIMATING_MAX) {
      const message = "other estimates are being made; try again in some seconds";
      return { kind: "refused", code: "unavailable", message };
    }
    this.#estimating += 1;
    try {
      const maxTokens = wanted.maxTokens ?? MAX_TOKENS_DEFAULT;
      const calls = { ...wanted, maxTokens };
      const estimate = await estimateSearch(this.#options, principal, calls);
      return { kind: "estimated", estimate };
    } finally {
      this.#estimating -= 1;
    }
  }

  /**
   * Returns the answers after the first `after` events, only to the person who started the search.
   * Undefined if this process does not hold them: they are dropped within ten minutes of the end.
   */
  answers(
    orgId: OrgId,
    searchId: string,
    { after, by }: { readonly after: number; readonly by: ChangedBy },
  ): FedEvents | undefined {
    return this.#feeds.find({ orgId, searchId, by })?.since(after);
  }

  /** An ended search stays as it is. Undefined if there is no such search. */
  async stop(orgId: OrgId, searchId: string, by: ChangedBy): Promise<OptimizeSearch | undefined> {
    // Only a search of this organization is found, so that no other organization can stop it.
    const search = await this.#options.store.find(orgId, searchId);
    const run = search === undefined ? undefined : this.#runs.get(searchId);
    run?.stop({ state: "stopped", message: null }, by);
    await run?.done;
    return await this.#options.store.stop(orgId, searchId, by);
  }

  /** Ends the searches of this process as `interrupted`, and disables their keys. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const runs = [...this.#runs.values()];
    for (const run of runs) run.stop(SHUT_DOWN, byGateway("optimize"));
    await Promise.all([this.#sweeping.close(), ...runs.map((run) => run.done)]);
    this.#feeds.close();
  }

  #findRefusal(wanted: WantedSearch): OptimizeRefusal | undefined {
    const { objective, judgeModelId, modelIds, budgetMicroUsd } = wanted;
    const { isChatModel, clock } = this.#options;
    if (budgetMicroUsd <= 0n) {
      return invalid("budget_usd", "budget_usd must be above 0; a search spends no more than that");
    }
    const unknown = modelIds.find((modelId) => !isChatModel(modelId));
    if (unknown !== undefined) {
      return invalid("models", `models: ${unknown} is not a listed chat model; choose another`);
    }
    if (judgeModelId !== null && !isChatModel(judgeModelId)) {
      const message = `judge_model: ${judgeModelId} is not a listed chat model; choose another`;
      return invalid("judge_model", message);
    }
    if (objective === "best_judged" && judgeModelId === null) {
      return invalid("judge_model", "judge_model is missing; name the model that judges");
    }
    if (this.#isClosed || this.#runs.size >= RUNNING_MAX) return TOO_MANY;
    if (endsMonthSoon(clock.nowMs())) {
      const message = "the UTC month ends in these minutes; start the search in the next one";
      return { kind: "refused", code: "unavailable", message };
    }
    return undefined;
  }

  #run(
    search: OptimizeSearch,
    asked: Pick<RunOptions, "key" | "prompts" | "maxTokens"> & { readonly by: ChangedBy },
    end: () => void,
  ): void {
    const { store, caller, clock, log, callGapMs } = this.#options;
    const run = new SearchRun({ store, caller, clock, log, callGapMs, search, ...asked });
    this.#runs.set(search.searchId, run);
    const { searchId, orgId } = search;
    this.#feeds.hold({ searchId, orgId, by: asked.by }, run.feed);
    void run.done.finally(() => {
      end();
      this.#runs.delete(searchId);
      this.#feeds.endSoon(searchId);
    });
    // If `close` was called while this search began, the search is ended like all others.
    if (this.#isClosed) run.stop(SHUT_DOWN, byGateway("optimize"));
  }

  async #sweep(): Promise<void> {
    const { store, log } = this.#options;
    const ended = await store.interruptDead("the process that ran this search ended");
    if (ended > 0) log.warn({ ended }, "optimize searches without a process were ended");
  }
}

const TOO_MANY: OptimizeRefusal = {
  kind: "refused",
  code: "unavailable",
  message: "too many searches run on this installation; try again in some minutes",
};

export type OptimizeSearches = Public<OptimizeRuns>;

function invalid(field: NonNullable<OptimizeRefusal["field"]>, message: string): OptimizeRefusal {
  return { kind: "refused", code: "invalid_request", field, message };
}
