import { type Clock, Job, type Logger, type OrgId } from "../../kernel/index.ts";
import type { Month } from "./statements.ts";

/** What a piece of the work did. */
export interface ClosedPiece {
  /** Organizations whose month was checked. */
  readonly examined: number;
  /** Their statement could not be made; the month is gone through once more. */
  readonly failed: readonly {
    readonly orgId: OrgId;
    readonly month: Month;
    readonly fault: unknown;
  }[];
  /** False: nothing is left to do now, or another process does it. */
  readonly hasMore: boolean;
}

/** Closes statements of months that are over, of every organization that had movement. */
export interface StatementClosing {
  /** A bounded piece. Ended anywhere, it is done again, and no statement is made twice. */
  closeSome(isClosed?: () => boolean): Promise<ClosedPiece>;
  /** The oldest month that is over and not yet closed for all; undefined: there is none. */
  oldestOpen(): Promise<Month | undefined>;
}

const EVERY_MS = 60_000;
/** Less than that: reports use the same connections. */
const WORK_MAX_MS = 30_000;

/** Every process may run one: a month is one's at a time. */
export function startStatementClosing(options: {
  readonly closing: StatementClosing;
  readonly clock: Clock;
  readonly log: Logger;
}): { close(): Promise<void> } {
  const { closing, clock, log } = options;
  const failure = "monthly statements could not be closed; this will be retried";
  const job = new Job(
    EVERY_MS,
    async (isStopping) => {
      const endMs = clock.monotonicMs() + WORK_MAX_MS;
      while (!isStopping() && clock.monotonicMs() < endMs) {
        const { failed, hasMore } = await closing.closeSome(isStopping);
        for (const { orgId, month, fault } of failed) {
          const message = "a monthly statement could not be closed; this will be retried";
          log.warn({ orgId, month, err: fault }, message);
        }
        if (!hasMore) return;
      }
    },
    (fault) => log.warn({ err: fault }, failure),
  );
  job.start();
  return job;
}
