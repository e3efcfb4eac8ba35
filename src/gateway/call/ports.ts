import type { AbuseMonitor } from "../abuse/abuse-monitor.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Catalog, Deployment } from "../../catalog/index.ts";
import type { Clock, Deadlines } from "../../kernel/index.ts";
import type { AttemptClassifier, AttemptTimeouts, UpstreamClient } from "../../upstream/index.ts";
import type { Ledger } from "../../ledger/index.ts";
import type { AskedRequest } from "../limits/effective-limits.ts";
import type { LimitDefaults } from "../limits/stored-limit.ts";
import type { LimitStore, ScopeClaim } from "../limits/limit-store.ts";
import type { PoolBoard } from "../limits/pool-board.ts";
import type { Affinity, ListingStanding } from "../routing/plan-route.ts";
import type { DeploymentHealth } from "../routing/health.ts";
import type { RepeatedFailures } from "../routing/repeated-failures.ts";
import type { Breaches } from "../verification/conduct.ts";
import type { DetachedReadLimit } from "./detached-read-limit.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { RefusalWindows, Shortfalls } from "./refusal-memory.ts";

export interface CallTimeouts {
  /** The time limits of an attempt whose answer is a stream, and of one whose answer comes whole. */
  readonly stream: AttemptTimeouts;
  readonly whole: AttemptTimeouts;
  /** Until a provider accepts a video job, and until it decides. */
  readonly videoAccept: AttemptTimeouts;
  readonly decisions: AttemptTimeouts;
  readonly routingMs: number;
  readonly keepaliveMs: number;
  /** Silence before a stream's first content after which its 200 is written; 0: never. */
  readonly commitSilenceMs: number;
}

/** Everything that a call works with; made once, in `app`. */
export interface CallPorts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly catalog: { readonly current: Catalog };
  readonly health: DeploymentHealth;
  /** Failed requests of the last minute: repeats of one are one strike. */
  readonly repeats: RepeatedFailures;
  /** Which deployment served a conversation last. */
  readonly affinity: Affinity;
  readonly limits: LimitStore;
  readonly ledger: Ledger;
  readonly classify: AttemptClassifier;
  readonly drains: DetachedReadLimit;
  readonly metrics: GatewayMetrics;
  readonly pools: PoolBoard;
  /** How far listings are trusted, and what live answers say about them. */
  readonly standing: ListingStanding & {
    note(deployment: Deployment, orgId: string, breaches: Breaches): void;
  };
  readonly usage: AbuseMonitor;
  /** How many requests of a caller may be refused. */
  readonly refusals: Pick<RefusalWindows, "enter" | "leave" | "note" | "forget">;
  /** The reserves that the ledger refused a moment ago. */
  readonly shortfalls: Pick<Shortfalls, "find" | "asking" | "note" | "forget">;
  readonly upstream: UpstreamClient;
  /** Is there a key to open customers' own provider keys with? Without it there are none. */
  readonly opensOwnKeys: boolean;
  readonly timeouts: CallTimeouts;
  /** The limit scopes of a principal, narrowest first. */
  readonly scopesOf: (principal: Principal, asked?: AskedRequest) => readonly ScopeClaim[];
  /** The defaults that `scopesOf` uses. */
  readonly limitDefaults: LimitDefaults;
  /** Limits of all callers together; empty when there are none. */
  readonly platform: readonly ScopeClaim[];
}
