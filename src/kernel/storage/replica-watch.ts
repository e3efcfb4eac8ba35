import type { Pool, PoolClient } from "pg";

import type { Clock } from "../core/time.ts";
import type { Logger } from "../core/log.ts";
import { queryOneInTime } from "./connection.ts";

/** How often the positions of primary and replica in the write-ahead log are read. */
const ASK_EVERY_MS = 1_000;
/** A replica that has not answered for this long counts as down. */
const ANSWERED_WITHIN_MS = 5_000;

/** The primary's position in its write-ahead log, at an instant of our monotonic clock. */
interface Mark {
  readonly atMs: number;
  readonly position: bigint;
}

interface Primary {
  readonly position: bigint;
  /** Identifies the server and the database. A replica has the identity of its primary. */
  readonly identity: string;
}

interface Replica extends Primary {
  readonly isReplica: boolean;
}

interface ReplicaWatchOptions {
  readonly primary: Pool;
  readonly replica: Pool;
  /** The maximum age in milliseconds. An older replica is not used. */
  readonly ageMsMax: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Measures the age of a streaming replica. Every second it reads the position of the primary in its
 * write-ahead log: a replica that has replayed up to this position has all commits before that
 * read. The measurement writes nothing and relies on no server's clock. Ages are upper bounds.
 */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  /** Oldest first. All but the first are younger than `ageMsMax`. */
  #marks: Mark[] = [];
  #identity: string | undefined;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #state: "unknown" | "used" | "not used" = "unknown";
  #isClosed = false;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#watch();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** True if the replica has answered in the last 5 s. Check it before waiting for the replica. */
  isThere(): boolean {
    return this.#options.clock.monotonicMs() - this.#answeredAtMs <= ANSWERED_WITHIN_MS;
  }

  /**
   * Returns the maximum age, in milliseconds, of the data that this connection reads from now on.
   * Undefined if it exceeds `ageMsMax`, or if the server is not a replica of the primary.
   */
  async ageMs(client: Pool | PoolClient): Promise<number | undefined> {
    await this.#askPrimary().catch(() => undefined);
    const { position, identity, isReplica } = await queryOneInTime<Replica>(client, REPLICA_SQL);
    if (!isReplica || identity !== this.#identity) return undefined;
    const mark = this.#marks.findLast((each) => each.position <= position);
    if (mark === undefined) return undefined;
    const ageMs = this.#options.clock.monotonicMs() - mark.atMs;
    return ageMs <= this.#options.ageMsMax ? ageMs : undefined;
  }

  async #watch(): Promise<void> {
    try {
      const ageMs = await this.ageMs(this.#options.replica);
      this.#answeredAtMs = this.#options.clock.monotonicMs();
      this.#say(ageMs === undefined ? "not used" : "used");
    } catch (fault) {
      this.#say("not used", fault);
    }
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#watch(), ASK_EVERY_MS).unref();
  }

  async #askPrimary(): Promise<void> {
    // The clock is read before the query, because the position may lack commits after this instant.
    const { primary, ageMsMax, clock } = this.#options;
    const atMs = clock.monotonicMs();
    const { position, identity } = await queryOneInTime<Primary>(primary, PRIMARY_SQL);
    this.#identity = identity;
    const kept = this.#marks.findLastIndex((each) => atMs - each.atMs > ageMsMax);
    this.#marks = this.#marks.slice(Math.max(kept, 0));
    const last = this.#marks.at(-1);
    // Answers of two queries may arrive in the wrong order: the older answer is then dropped.
    if (last !== undefined && (atMs < last.atMs || position < last.position)) return;
    this.#marks.push({ atMs, position });
  }

  #say(state: "used" | "not used", fault?: unknown): void {
    if (state === this.#state || this.#isClosed) return;
    const { log } = this.#options;
    const isFirst = this.#state === "unknown";
    this.#state = state;
    if (state === "used") {
      if (!isFirst) log.info({}, "reports are read from the replica again");
      return;
    }
    const message =
      fault === undefined
        ? "reports are read from the primary: DATABASE_REPORTS_URL is behind, or no replica of it"
        : "reports are read from the primary: DATABASE_REPORTS_URL does not answer";
    log.warn(fault === undefined ? {} : { err: fault }, message);
  }
}

const IDENTITY_SQL = `(select system_identifier::text from pg_control_system()) || '/' ||
    (select oid::text from pg_database where datname = current_database())`;

const PRIMARY_SQL = `select ${IDENTITY_SQL} as identity,
    pg_current_wal_flush_lsn() - '0/0'::pg_lsn as position`;

const REPLICA_SQL = `select ${IDENTITY_SQL} as identity, pg_is_in_recovery() as "isReplica",
    case when pg_is_in_recovery() then pg_last_wal_replay_lsn() - '0/0'::pg_lsn else 0 end as position`;
