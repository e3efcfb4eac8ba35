import type { CallParts } from "../call/index.ts";
import { addressesOf, type Environment, type LiveConfig, pathsOf } from "../config/index.ts";
import type { OperatorDeps } from "../console-api/index.ts";
import { type Clock, normaliseEmail } from "../core/index.ts";
import { programSchemaLevel } from "../storage/index.ts";
import type { Backend } from "./open-backend.ts";
import { hasDefaultFolder } from "./open-catalog.ts";
import { readSettlementTerms } from "./settlement-terms.ts";
import { programVersion } from "./shipped-files.ts";

/** What the operator pages of the console work with. */
export function openOperator(
  options: {
    readonly live: LiveConfig;
    readonly backend: Backend;
    readonly env: Environment;
    readonly clock: Clock;
  },
  parts: {
    readonly serve: Pick<CallParts, "pools">;
    readonly ledger: { readonly hasGoneBack: boolean };
  },
): OperatorDeps {
  const { live, backend, env, clock } = options;
  const { serve, ledger } = parts;
  const config = live.current;
  return {
    emails: followEmails(live),
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
    pools: serve.pools,
    installation: {
      version: programVersion(),
      commit: config.buildCommit,
      node: process.version,
      programSchemaLevel: programSchemaLevel(),
      hasReplica: config.databaseReportsUrl !== "",
      waitingSettings: () => pathsOf(live.waiting),
      hasGoneBack: () => ledger.hasGoneBack,
      readInstances: () => backend.readInstances(),
      readBooks: () => backend.readBooksFigures(),
      readReplicaLagMs: () => backend.replicaLagMs(),
    },
  };
}

/** An address that leaves the setting opens nothing from the next request on. */
function followEmails(live: LiveConfig): () => ReadonlySet<string> {
  let current = emailsOf(live.current.operators);
  live.follow(["operators"], ({ operators }) => {
    const next = emailsOf(operators);
    return () => {
      current = next;
    };
  });
  return () => current;
}

function emailsOf(list: string): ReadonlySet<string> {
  return new Set(addressesOf(list).map(normaliseEmail));
}
