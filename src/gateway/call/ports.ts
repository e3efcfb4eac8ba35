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
import type { DeploymentHealth, RepeatedFailures } from "../routing/health.ts";
import type { Breaches } from "../verification/conduct.ts";
import type { DetachedReadLimit } from "./detached-read-limit.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { RefusalWindows, Shortfalls } from "./refusal-memory.ts";

export interface CallTimeouts {
  readonly stream: AttemptTimeouts;
  readonly whole: AttemptTimeouts;
  readonly videoAccept: AttemptTimeouts;
  readonly decisions: AttemptTimeouts;
  readonly routingMs: number;
  readonly keepaliveMs: number;
  /** Milliseconds without output after which a stream's status 200 is written; 0 means never. */
  readonly commitSilenceMs: number;
}

export interface CallPorts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly catalog: { readonly current: Catalog };
  readonly health: DeploymentHealth;
  readonly repeats: RepeatedFailures;
  readonly affinity: Affinity;
  readonly limits: LimitStore;
  readonly ledger: Ledger;
  readonly classify: AttemptClassifier;
  readonly drains: DetachedReadLimit;
  readonly metrics: GatewayMetrics;
  readonly pools: PoolBoard;
  readonly standing: ListingStanding & {
    note(deployment: Deployment, orgId: string, breaches: Breaches): void;
  };
  readonly usage: AbuseMonitor;
  readonly refusals: Pick<RefusalWindows, "enter" | "leave" | "note" | "forget">;
  readonly shortfalls: Pick<Shortfalls, "find" | "asking" | "note" | "forget">;
  readonly upstream: UpstreamClient;
  /** False if customers' provider keys cannot be decrypted here, and so are not used. */
  readonly opensOwnKeys: boolean;
  readonly timeouts: CallTimeouts;
  /** The limit scopes of a principal, narrowest first. */
  readonly scopesOf: (principal: Principal, asked?: AskedRequest) => readonly ScopeClaim[];
  readonly limitDefaults: LimitDefaults;
  /** The limits over all callers together; empty if there are none. */
  readonly platform: readonly ScopeClaim[];
}
