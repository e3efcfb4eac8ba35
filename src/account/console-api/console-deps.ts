import type { IncomingMessage, ServerResponse } from "node:http";

import type {
  AbuseRestrictionStore,
  AccountStore,
  ConnectionStore,
  KeyVault,
  Principal,
  RulesStore,
  StoredConnection,
  LimitUseDeps,
  ListingFiguresStore,
  RecordStore,
  UsageReports,
  DeploymentHealth,
  VerdictStore,
  Verification,
} from "../../gateway/index.ts";
import type { AlertStore } from "../alerts/postgres-alert-store.ts";
import type { Billing } from "../billing/billing.ts";
import type { CompanyStore } from "../billing/company.ts";
import type { StatementStore } from "../billing/postgres-statement-store.ts";
import type { Catalog } from "../../catalog/index.ts";
import type {
  ChangeStore,
  Config,
  IssuerConfig,
  ClientAddresses,
  Clock,
  OrgId,
} from "../../kernel/index.ts";
import type { Identity } from "../identity/identity.ts";
import type { OptimizeSearches } from "../optimize/optimize.ts";
import type { OperatorDeps } from "./operator-deps.ts";
import type { Invitations } from "../team/invitations.ts";
import type { TeamStore } from "../team/postgres-team-store.ts";

/** What a provider made of a customer's own key. */
export type ConnectionCheck =
  | { readonly verdict: "accepted" | "refused" | "unclear"; readonly status: number }
  /** `reason` is a code such as ECONNREFUSED, or a text. */
  | { readonly verdict: "unreachable"; readonly reason: string };

/** Where the console reports: the shape of a pino logger. */
export interface ConsoleLog {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** What an operation works with, in the console and in a command. */
export interface OperationDeps extends Pick<
  ConsoleDeps,
  | "accounts"
  | "rules"
  | "records"
  | "reports"
  | "catalog"
  | "clock"
  | "connections"
  | "vault"
  | "checkConnection"
  | "abuseRestrictions"
> {
  readonly limitUse: Pick<LimitUseDeps, "catalog" | "limitDefaults" | "clock"> & {
    readonly limits: Pick<LimitUseDeps["limits"], "peek">;
  };
  readonly team: {
    readonly store: TeamStore;
    readonly invitations: Pick<Invitations, "canMail">;
  };
  readonly operator: Pick<OperatorDeps, "orgs" | "credit">;
}

/** Everything the console works with; made once, in `compose`. */
export interface ConsoleDeps {
  readonly identity: Identity;
  readonly billing: Billing;
  readonly companies: CompanyStore;
  readonly statements: StatementStore;
  readonly alerts: {
    readonly store: AlertStore;
    /** False: no mail server is configured. */
    readonly canMail: boolean;
    /** Why a webhook cannot go to this address; `busy`: too many of its organization are checked. */
    readonly checkAddress: (
      url: string,
      orgId: OrgId,
    ) => Promise<{ readonly problem: string } | "busy" | undefined>;
  };
  readonly team: { readonly store: TeamStore; readonly invitations: Invitations };
  readonly reports: UsageReports;
  readonly listingFigures: ListingFiguresStore;
  readonly accounts: AccountStore;
  readonly rules: RulesStore;
  readonly connections: ConnectionStore;
  /** Undefined: there is no key to encrypt provider keys with, so none can be added. */
  readonly vault: KeyVault | undefined;
  /** Undefined: the catalog has no such provider. Rejects with `SealedKeyFault`. */
  readonly checkConnection: (connection: StoredConnection) => Promise<ConnectionCheck | undefined>;
  readonly records: RecordStore;
  readonly abuseRestrictions: AbuseRestrictionStore;
  readonly changes: Pick<ChangeStore, "page">;
  readonly clientAddresses: ClientAddresses;
  readonly catalog: { readonly current: Catalog };
  readonly limitUse: LimitUseDeps;
  readonly health: Pick<DeploymentHealth, "mayTry">;
  readonly verification: Pick<Verification, "of">;
  readonly verdicts: Pick<VerdictStore, "history">;
  /** The gateway's own walk for a caller who is known; `url` is the gateway's path and query. */
  readonly playground: (
    request: IncomingMessage,
    response: ServerResponse,
    call: { readonly principal: Principal; readonly url: string },
  ) => void;
  /** What answers are written with: connections end with them while the instance drains. */
  readonly serverResponse: typeof ServerResponse;
  readonly optimize: OptimizeSearches;
  readonly operator: OperatorDeps;
  readonly config: Pick<
    Config,
    "support" | "privacyUrl" | "termsUrl" | "listingsPublicFigures" | keyof IssuerConfig
  >;
  readonly clock: Clock;
  readonly log: ConsoleLog;
  /** Folder of the built pages; they answer 503 where it does not exist. */
  readonly staticDir: string;
  /** The published OpenAPI document of the gateway. */
  readonly openApiFile: string;
  /** Base addresses without a trailing slash; known once the listeners are open. */
  readonly consoleUrl: () => string;
  readonly gatewayUrl: () => string;
}
