import type { KeyObject } from "node:crypto";
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
} from "../../kernel/index.ts";
import type {
  CreditStore,
  SettlementStore,
  BooksFigures,
  KnownInstance,
  SettlementTerms,
  SigningKey,
} from "../../ledger/index.ts";
import type { Identity } from "../identity/open-identity.ts";
import type { OptimizeSearches } from "../optimize/open-optimize.ts";
import type { Invitations } from "../team/invitations.ts";
import type { TeamStore } from "../team/postgres-team-store.ts";
import type { PurchaseStore } from "../billing/postgres-purchase-store.ts";

export type ConnectionCheck =
  | { readonly verdict: "accepted" | "refused" | "unclear"; readonly status: number }
  /** `reason` is a code such as ECONNREFUSED, or a message. */
  | { readonly verdict: "unreachable"; readonly reason: string };

/** The parts that an operation works with, in the console and in a command. */
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
  | "companies"
  | "statements"
  | "consoleUrl"
> {
  readonly config: Pick<Config, keyof IssuerConfig>;
  readonly limitUse: Pick<LimitUseDeps, "catalog" | "limitDefaults" | "clock"> & {
    readonly limits: Pick<LimitUseDeps["limits"], "peek">;
  };
  readonly team: {
    readonly store: TeamStore;
    readonly invitations: Pick<Invitations, "canMail">;
  };
  readonly operator: Pick<OperatorDeps, "orgs" | "credit" | "settlement" | "readSettlementTerms">;
}

/** The parts that commands without a page need too. */
export interface CommandDeps extends OperationDeps {
  readonly config: Config;
  readonly operator: Omit<OperationDeps["operator"], "credit" | "settlement"> & {
    readonly credit: CreditStore;
    readonly settlement: SettlementStore;
  };
  readonly changeStore: ChangeStore;
  readonly topUps: Pick<TopUpStore, "list" | "pause">;
  readonly sealedTables: readonly SealedRows[];
  /** The installation's own key; `read` reads the public key of a file instead, if one is named. */
  readonly exportKey: {
    readonly open: () => SigningKey;
    readonly read: (file: string | undefined) => KeyObject | undefined;
  };
  /** `isThere`: the manifests folder exists and the provider is private. */
  readonly checkPrivateManifest: (
    providerId: string,
  ) =>
    | { readonly ok: true; readonly isThere: boolean }
    | { readonly ok: false; readonly problem: string };
}

export interface ConsoleDeps {
  readonly identity: Identity;
  readonly billing: Billing;
  readonly companies: CompanyStore;
  readonly statements: StatementStore;
  readonly alerts: {
    readonly store: AlertStore;
    /** Undefined: no mail server is configured. */
    readonly mailer: Mailer | undefined;
    /** The most invitations and confirmations per hour, of all organizations together. */
    readonly mailsPerHourMax: number;
    /** Why a webhook cannot use this address; `busy` if too many look-ups are in flight. */
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
  /** Undefined if there is no key to encrypt provider keys with, so none can be added. */
  readonly vault: KeyVault | undefined;
  /** Undefined if the catalog has no such provider. Rejects with `SealedKeyFault`. */
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
  /** The gateway's request path for a known caller; `url` is the gateway's path and query. */
  readonly playground: (
    request: IncomingMessage,
    response: ServerResponse,
    call: { readonly principal: Principal; readonly url: string },
  ) => void;
  /** The class of responses: while the instance drains, each closes its connection. */
  readonly serverResponse: typeof ServerResponse;
  readonly optimize: OptimizeSearches;
  readonly operator: OperatorDeps;
  readonly config: Pick<
    Config,
    "support" | "privacyUrl" | "termsUrl" | "listingsPublicFigures" | keyof IssuerConfig
  >;
  readonly clock: Clock;
  readonly log: Logger & { debug(detail: object, message: string): void };
  /** Folder of the built pages; they answer 503 where it does not exist. */
  readonly staticDir: string;
  readonly openApiFile: string;
  /** Base addresses without a trailing slash; known once the listeners are open. */
  readonly consoleUrl: () => string;
  readonly gatewayUrl: () => string;
}

/** The reads and actions of operators; every change is the function that the command calls. */
export interface OperatorDeps {
  /** The verified, normalised e-mail addresses of operators, from the present settings. */
  readonly emails: ReadonlySet<string>;
  readonly orgs: OrgDirectory;
  readonly credit: Pick<CreditStore, "grant">;
  readonly purchases: Pick<PurchaseStore, "listWaiting">;
  readonly settlement: Omit<SettlementStore, "bearLost" | "putBack">;
  readonly readSettlementTerms: () => TermsRead;
  readonly changes: Pick<ChangeStore, "list" | "record">;
  readonly desk: OperatorDesk;
  readonly pools: Pick<PoolBoard, "cooldownMs" | "usablePercent">;
  readonly installation: Installation;
}

export type TermsRead =
  | { readonly ok: true; readonly terms: ReadonlyMap<string, SettlementTerms> }
  /** Nothing is closed then: a period that was closed by wrong terms cannot be opened again. */
  | { readonly ok: false; readonly problem: string };

/** The state of the installation as this instance knows it. */
export interface Installation {
  readonly version: string;
  /** Empty if it is not known. */
  readonly commit: string;
  readonly node: string;
  readonly programSchemaLevel: number;
  readonly hasReplica: boolean;
  readonly waitingSettings: () => readonly string[];
  readonly hasGoneBack: () => boolean;
  readonly readInstances: () => Promise<readonly KnownInstance[]>;
  readonly readBooks: () => Promise<BooksFigures>;
  /** The listings that were sold for less than is owed in the last days. */
  readonly readLosses: (days: number) => Promise<readonly ListingLoss[]>;
  /** What the last scheduled refresh of the catalog left to an operator, a sentence each. */
  readonly readRefreshWaits: () => readonly string[];
  /** The age of reports; undefined if the replica does not serve them now. */
  readonly readReplicaLagMs: () => Promise<number | undefined>;
}
