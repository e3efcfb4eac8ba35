import type { CallPorts } from "../gateway/index.ts";
import {
  splitAddresses,
  type Config,
  type Environment,
  type Clock,
  normaliseEmail,
  programSchemaLevel,
} from "../kernel/index.ts";
import type { OperatorDeps } from "../account/index.ts";
import type { Backend } from "./open-backend.ts";
import { hasDefaultFolder } from "./open-catalog.ts";
import { readSettlementTerms } from "./load-catalog.ts";
import { readRefreshState } from "./refresh-state.ts";
import { programVersion } from "./shipped-files.ts";

/** The parts that the operator pages of the console work with. */
export function openOperator(
  options: {
    readonly config: Config;
    readonly inForce: { readonly waiting: readonly string[] };
    readonly backend: Backend;
    readonly env: Environment;
    readonly clock: Clock;
  },
  parts: {
    readonly serve: Pick<CallPorts, "pools">;
    readonly ledger: { readonly hasGoneBack: boolean };
  },
): OperatorDeps {
  const { config, inForce, backend, env, clock } = options;
  const { serve, ledger } = parts;
  return {
    emails: new Set(splitAddresses(config.operators).map(normaliseEmail)),
    orgs: backend.orgDirectory,
    credit: backend.creditStore,
    purchases: backend.purchaseStore,
    settlement: backend.settlementStore,
    readSettlementTerms: () => {
      const { manifestsDir } = config;
      const isFolderOptional = hasDefaultFolder(config);
      return readSettlementTerms({ manifestsDir, isFolderOptional, env, clock });
    },
    changes: backend.changeStore,
    desk: backend.operatorDesk,
    pools: serve.pools,
    installation: {
      version: programVersion(),
      commit: config.buildCommit,
      node: process.version,
      programSchemaLevel: programSchemaLevel(),
      hasReplica: config.databaseReportsUrl !== "",
      waitingSettings: () => inForce.waiting,
      hasGoneBack: () => ledger.hasGoneBack,
      readInstances: () => backend.readInstances(),
      readBooks: () => backend.readBooksFigures(),
      readLosses: (days) => backend.listingLosses(days),
      readRefreshWaits: () => readRefreshState(config.dataDir)?.waits ?? [],
      readReplicaLagMs: () => backend.replicaLagMs(),
    },
  };
}
