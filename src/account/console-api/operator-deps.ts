import type { OrgDirectory, PoolBoard, ListingLoss } from "../../gateway/index.ts";
import type { PurchaseStore } from "../billing/postgres-purchase-store.ts";
import type { ChangeStore } from "../../kernel/index.ts";
import type {
  BooksFigures,
  CreditStore,
  KnownInstance,
  SettlementStore,
  SettlementTerms,
} from "../../ledger/index.ts";

/** What operators may read and do; every change is the function that the command calls. */
export interface OperatorDeps {
  /** Their verified e-mails, normalised, as the settings of the moment have them. */
  readonly emails: ReadonlySet<string>;
  readonly orgs: OrgDirectory;
  readonly credit: Pick<CreditStore, "grant">;
  readonly purchases: Pick<PurchaseStore, "listWaiting">;
  readonly settlement: Omit<SettlementStore, "bearLost" | "putBack">;
  /** As the manifests are at this moment. */
  readonly readSettlementTerms: () => TermsRead;
  readonly changes: Pick<ChangeStore, "list">;
  readonly pools: Pick<PoolBoard, "cooldownMs" | "usablePercent">;
  readonly installation: Installation;
}

/** How providers are paid, or why that is not known. */
type TermsRead =
  | { readonly ok: true; readonly terms: ReadonlyMap<string, SettlementTerms> }
  | { readonly ok: false; readonly problem: string };

/** How the installation is, as far as this instance knows. */
export interface Installation {
  readonly version: string;
  /** Empty: not known. */
  readonly commit: string;
  readonly node: string;
  readonly programSchemaLevel: number;
  readonly hasReplica: boolean;
  readonly waitingSettings: () => readonly string[];
  readonly hasGoneBack: () => boolean;
  readonly readInstances: () => Promise<readonly KnownInstance[]>;
  readonly readBooks: () => Promise<BooksFigures>;
  /** What was sold for less than is owed in the last days. */
  readonly readLosses: (days: number) => Promise<readonly ListingLoss[]>;
  /** What the last scheduled refresh of the catalog left to an operator. */
  readonly readRefreshWaits: () => readonly string[];
  /** How old reports are; undefined: the replica does not serve them now. */
  readonly readReplicaLagMs: () => Promise<number | undefined>;
}
