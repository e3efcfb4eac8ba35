import { instant } from "../../kernel/index.ts";
import type { BooksFigures } from "../../ledger/index.ts";
import { catalogNotices, LOSS_DAYS } from "./catalog-notices.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { OperatorHealth } from "./contract.ts";
import { present } from "./present.ts";
import { OperatorInstance, OperatorBooks } from "./contract/operator.ts";

export async function readOperatorHealth(deps: ConsoleDeps): Promise<OperatorHealth> {
  const { catalog } = deps;
  const { installation } = deps.operator;
  const [instances, books, losses, lagMs] = await Promise.all([
    installation.readInstances(),
    readBooks(deps),
    installation.readLosses(LOSS_DAYS),
    installation.hasReplica ? installation.readReplicaLagMs() : undefined,
  ]);
  return {
    version: installation.version,
    commit: installation.commit === "" ? null : installation.commit,
    node: installation.node,
    schema: {
      database: books?.schemaLevel ?? null,
      program: installation.programSchemaLevel,
    },
    catalog: {
      build_id: catalog.current.buildId,
      models: catalog.current.models.length,
      listings: catalog.current.deployments.length,
    },
    notices: catalogNotices(catalog.current, losses, installation.readRefreshWaits()),
    waiting_for_restart: [...installation.waitingSettings()],
    instances: instances.map((each) => present(OperatorInstance, each)),
    books: books === undefined ? null : presentBooks(books, installation.hasGoneBack()),
    replica: installation.hasReplica ? { lag_ms: lagMs ?? null } : null,
  };
}

/** Undefined if the ledger does not answer in time; the page then shows everything else. */
async function readBooks({ operator, log }: ConsoleDeps): Promise<BooksFigures | undefined> {
  try {
    return await operator.installation.readBooks();
  } catch (fault) {
    log.warn({ err: fault }, "the figures of the books could not be read for the operator page");
    return undefined;
  }
}

function presentBooks(books: BooksFigures, hasGoneBack: boolean): OperatorHealth["books"] {
  const { lastAudit, oldestOpenSeconds } = books;
  return present(OperatorBooks, books, {
    oldest_open_seconds: Math.round(oldestOpenSeconds),
    has_gone_back: hasGoneBack,
    last_audit:
      lastAudit === undefined
        ? null
        : { ended_at: instant(lastAudit.endedAtMs), violations: lastAudit.violations },
  });
}
