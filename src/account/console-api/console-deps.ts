import type { KeyObject } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import type {
  ArrivingBodies,
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
  OperatorDesk,
  OrgDirectory,
  PoolBoard,
  ListingLoss,
  SealedRows,
} from "../../gateway/index.ts";
import type { AlertStore } from "../alerts/postgres-alert-store.ts";
import type { Billing } from "../billing/stripe-billing.ts";
import type { CompanyStore } from "../billing/company.ts";
import type { StatementStore } from "../billing/postgres-statement-store.ts";
import type { TopUpStore } from "../billing/postgres-top-up-store.ts";
import type { Catalog } from "../../catalog/index.ts";
import type {
  ChangeStore,
  Config,
  IssuerConfig,
  ClientAddresses,
  Clock,
  Logger,
  OrgId,
  Mailer,
  SigningKey,
} from "../../kernel/index.ts";
import type {
  CreditStore,
  SettlementStore,
  BooksFigures,
  KnownInstance,
  SettlementTerms,
} from "../../ledger/index.ts";
import type { Identity } from "../identity/open-identity.ts";
import type { OptimizeSearches } from "../optimize/open-optimize.ts";
import type { Invitations } from "../team/invitations.ts";
import type { TeamStore } from "../team/postgres-team-store.ts";
import type { PurchaseStore } from "../billing/postgres-purchase-store.ts";

export type ConnectionCheck =
  | { readonly verdict: "accepted" | "refused" | "unclear"; readonly status: number }
  | { readonly verdict: "unreachable"; readonly reason: string };

/** The ports of an operation that a route and a command share. */
export interface OperationDeps {
  readonly accounts: AccountStore;
  readonly rules: RulesStore;
  readonly records: RecordStore;
  readonly reports: UsageReports;
  readonly catalog: { readonly current: Catalog };
  readonly clock: Clock;
  readonly connections: ConnectionStore;
  /** Undefined if no encryption key is configured, so that provider keys cannot be added. */
  readonly vault: KeyVault | undefined;
  /**
   * Undefined if the catalog has no such provider. Rejects with `SealedKeyFault` if the stored key
   * cannot be decrypted.
   */
  readonly checkConnection: (connection: StoredConnection) => Promise<ConnectionCheck | undefined>;
  readonly abuseRestrictions: AbuseRestrictionStore;
  readonly companies: CompanyStore;
  readonly statements: StatementStore;
  /** Has no trailing slash. Like the gateway's address, it is known once the listener is open. */
  readonly consoleUrl: () => string;
  readonly config: Pick<Config, keyof IssuerConfig>;
  readonly limitUse: Pick<LimitUseDeps, "catalog" | "limitDefaults" | "clock"> & {
    readonly limits: Pick<LimitUseDeps["limits"], "peek">;
  };
  readonly team: {
    readonly store: TeamStore;
    readonly invitations: Pick<Invitations, "canMail">;
  };
  readonly orgs: OrgDirectory;
  readonly credit: Pick<CreditStore, "grant">;
  readonly settlement: Omit<SettlementStore, "bearLost" | "putBack">;
  readonly readSettlementTerms: () => TermsRead;
}

export interface CommandDeps extends OperationDeps {
  readonly config: Config;
  readonly credit: CreditStore;
  readonly settlement: SettlementStore;
  readonly changeStore: ChangeStore;
  readonly topUps: Pick<TopUpStore, "list" | "pause">;
  readonly sealedTables: readonly SealedRows[];
  /** `read` returns the public key in `file`; without `file`, the installation's own, if any. */
  readonly exportKey: {
    readonly open: () => SigningKey;
    readonly read: (file: string | undefined) => KeyObject | undefined;
  };
  /** `isThere` is false if this machine has and needs no manifests: the server is elsewhere. */
  readonly checkPrivateManifest: (
    providerId: string,
  ) =>
    | { readonly ok: true; readonly isThere: boolean }
    | { readonly ok: false; readonly problem: string };
}

export interface ConsoleDeps extends OperationDeps {
  readonly identity: Identity;
  readonly billing: Billing;
  readonly alerts: {
    readonly store: AlertStore;
    readonly mailer: Mailer | undefined;
    /** The most e-mails per hour for invitations and confirmations, over all organizations. */
    readonly mailsPerHourMax: number;
    /** Says why a webhook cannot use an address; `busy` if too many look-ups are in flight. */
    readonly checkAddress: (
      url: string,
      orgId: OrgId,
    ) => Promise<{ readonly problem: string } | "busy" | undefined>;
  };
  readonly team: { readonly store: TeamStore; readonly invitations: Invitations };
  readonly listingFigures: ListingFiguresStore;
  readonly purchases: Pick<PurchaseStore, "list" | "findOwn" | "owed" | "listWaiting">;
  readonly changes: Pick<ChangeStore, "page" | "list" | "record">;
  readonly clientAddresses: ClientAddresses;
  readonly arriving: ArrivingBodies;
  readonly limitUse: LimitUseDeps;
  readonly health: Pick<DeploymentHealth, "mayTry">;
  readonly verification: Pick<Verification, "of">;
  readonly verdicts: Pick<VerdictStore, "history">;
  /** Runs a request of a known caller in the gateway; `url` is the gateway's path and query. */
  readonly playground: (
    request: IncomingMessage,
    response: ServerResponse,
    call: { readonly principal: Principal; readonly url: string },
  ) => void;
  /** While the instance drains, responses of this class close their connections. */
  readonly serverResponse: typeof ServerResponse;
  readonly optimize: OptimizeSearches;
  /** Normalized e-mail addresses of operators, from the present settings. */
  readonly operators: ReadonlySet<string>;
  readonly desk: OperatorDesk;
  readonly pools: Pick<PoolBoard, "cooldownMs" | "usablePercent">;
  readonly installation: Installation;
  readonly config: Pick<
    Config,
    "support" | "privacyUrl" | "termsUrl" | "listingsPublicFigures" | keyof IssuerConfig
  >;
  readonly log: Logger & { debug(detail: object, message: string): void };
  /** The folder of the built pages; without it, all pages except the sign-in page answer 503. */
  readonly staticDir: string;
  /** The folder of the OpenAPI documents of the gateway and of the console. */
  readonly schemaDir: string;
  readonly gatewayUrl: () => string;
}

export type TermsRead =
  | { readonly ok: true; readonly terms: ReadonlyMap<string, SettlementTerms> }
  /** Without terms no period is closed: a period closed by wrong terms would stay closed. */
  | { readonly ok: false; readonly problem: string };

export interface Installation {
  readonly version: string;
  /** Empty if the commit of this build is not known. */
  readonly commit: string;
  readonly node: string;
  readonly programSchemaLevel: number;
  readonly hasReplica: boolean;
  readonly waitingSettings: () => readonly string[];
  readonly hasGoneBack: () => boolean;
  readonly readInstances: () => Promise<readonly KnownInstance[]>;
  readonly readBooks: () => Promise<BooksFigures>;
  readonly readLosses: (days: number) => Promise<readonly ListingLoss[]>;
  /** One sentence for each thing that the last scheduled catalog refresh left to an operator. */
  readonly readRefreshWaits: () => readonly string[];
  /** The age of the replica's data; undefined while the replica serves no reports. */
  readonly readReplicaLagMs: () => Promise<number | undefined>;
}
