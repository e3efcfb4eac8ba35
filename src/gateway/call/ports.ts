import type { AbuseMonitor } from "../abuse/unusual-use.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Catalog, Deployment } from "../../catalog/index.ts";
import type { Clock, Deadlines } from "../../kernel/index.ts";
import type { AttemptClassifier, AttemptTimeouts, UpstreamClient } from "../../upstream/index.ts";
import type { Ledger } from "../../ledger/index.ts";
import type { AskedRequest } from "../limits/effective-limits.ts";
import type { LimitDefaults } from "../limits/limit-ceilings.ts";
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
  /** The time limits of streamed and of whole answers. */
  readonly stream: AttemptTimeouts;
  readonly whole: AttemptTimeouts;
  /** The time limits until a provider accepts a video job, and until it decides. */
  readonly videoAccept: AttemptTimeouts;
  readonly decisions: AttemptTimeouts;
  readonly routingMs: number;
  readonly keepaliveMs: number;
  /** Silence before a stream's first content after which its 200 is written; 0: never. */
  readonly commitSilenceMs: number;
}

/** The dependencies of a call; created once, in `app`. */
export interface CallPorts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly catalog: { readonly current: Catalog };
  readonly health: DeploymentHealth;
  /** Failed requests of the last minute; repeats of one request count as one strike. */
  readonly repeats: RepeatedFailures;
  /** Remembers which deployment served a conversation last. */
  readonly affinity: Affinity;
  readonly limits: LimitStore;
  readonly ledger: Ledger;
  readonly classify: AttemptClassifier;
  readonly drains: DetachedReadLimit;
  readonly metrics: GatewayMetrics;
  readonly pools: PoolBoard;
  /** The trust in listings, and what live answers reveal about them. */
  readonly standing: ListingStanding & {
    note(deployment: Deployment, orgId: string, breaches: Breaches): void;
  };
  readonly usage: AbuseMonitor;
  /** Limits how many requests of a caller may be refused. */
  readonly refusals: Pick<RefusalWindows, "enter" | "leave" | "note" | "forget">;
  /** The reserves that the ledger refused a moment ago. */
  readonly shortfalls: Pick<Shortfalls, "find" | "asking" | "note" | "forget">;
  readonly upstream: UpstreamClient;
  /** True if this installation can decrypt customers' provider keys; else they are not used. */
  readonly opensOwnKeys: boolean;
  readonly timeouts: CallTimeouts;
  /** The limit scopes of a principal, narrowest first. */
  readonly scopesOf: (principal: Principal, asked?: AskedRequest) => readonly ScopeClaim[];
  /** The defaults that `scopesOf` uses. */
  readonly limitDefaults: LimitDefaults;
  /** The limits of all callers together; empty if there are none. */
  readonly platform: readonly ScopeClaim[];
}
