import { type Backend, checkConnection, openConfiguredVault } from "../app/index.ts";
import type { Catalog } from "../catalog/index.ts";
import type { OperationDeps } from "../account/index.ts";
import { clock, readConfig, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readCatalog } from "./read-catalog.ts";

/** What an operation works with when a command runs it. The manifests are read where they are asked. */
export function openOperationDeps(
  context: CommandContext,
  flags: Flags,
  backend: Backend,
): OperationDeps {
  const config = readConfig(context, flags);
  const vault = openConfiguredVault(config);
  let found: Catalog | undefined;
  const catalog = {
    get current() {
      return (found ??= readCatalog(context, config));
    },
  };
  return {
    accounts: backend.accountStore,
    rules: backend.rulesStore,
    records: backend.recordStore,
    reports: backend.usageReports,
    // What counts now is known to the servers alone.
    limitUse: {
      catalog,
      limitDefaults: config,
      clock,
      limits: { peek: () => Promise.resolve(undefined) },
    },
    catalog,
    clock,
    connections: backend.connectionStore,
    vault,
    checkConnection: async (connection) =>
      vault && (await checkConnection(connection, { catalog: catalog.current, config, vault })),
    abuseRestrictions: backend.usageHoldStore,
    team: { store: backend.teamStore, invitations: { canMail: config.smtpHost !== "" } },
    operator: { orgs: backend.orgDirectory, credit: backend.creditStore },
  };
}
