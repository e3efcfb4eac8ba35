import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import {
  type Backend,
  checkConnection,
  hasDefaultFolder,
  openConfiguredVault,
  openExportKey,
  readSettlementTerms,
  loadCatalog,
  readExportKey,
  sealedTables,
  renderIssue,
  listJsonFiles,
} from "../app/index.ts";
import {
  type Catalog,
  type CatalogIssue,
  type ManifestFile,
  parseManifestFiles,
} from "../catalog/index.ts";
import type { CommandDeps } from "../account/index.ts";
import {
  clock,
  type CommandContext,
  type Flags,
  reachableHost,
  UsageFault,
} from "./command-context.ts";
import type { Config } from "../kernel/index.ts";

/** The manifests are read when an operation first needs them. */
export function openOperationDeps(
  context: CommandContext,
  flags: Flags,
  backend: Backend,
  config: Config,
): CommandDeps {
  const { manifestsDir } = config;
  const isFolderOptional = flags["manifests"] === undefined;
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
    // `peek` returns undefined, because only servers know how much of the limits is used now.
    limitUse: {
      catalog,
      limitDefaults: config,
      clock,
      limits: { peek: () => Promise.resolve(undefined) },
    },
    catalog,
    clock,
    config,
    consoleUrl: () =>
      config.consoleUrl || `http://${reachableHost(config.host)}:${config.consolePort}`,
    connections: backend.connectionStore,
    vault,
    checkConnection: async (connection) =>
      vault && (await checkConnection(connection, { catalog: catalog.current, config, vault })),
    abuseRestrictions: backend.usageHoldStore,
    team: { store: backend.teamStore, invitations: { canMail: config.smtpHost !== "" } },
    companies: backend.companyStore,
    statements: backend.statementStore,
    topUps: backend.topUpStore,
    changeStore: backend.changeStore,
    sealedTables: sealedTables(backend),
    exportKey: {
      open: () => openExportKey(config),
      read: (file) => readExportKey(config, file),
    },
    orgs: backend.orgDirectory,
    credit: backend.creditStore,
    settlement: backend.settlementStore,
    readSettlementTerms: () =>
      readSettlementTerms({
        manifestsDir,
        isFolderOptional: isFolderOptional && hasDefaultFolder(config),
        env: context.env,
        clock,
      }),
    checkPrivateManifest: (providerId) =>
      checkPrivateManifest(manifestsDir, providerId, isFolderOptional),
  };
}

/**
 * Reads the manifest files, not the compiled catalog: a manifest is private whether or not its key
 * is set. If an optional folder is missing, skips the check, because the server may run on another
 * machine.
 */
function checkPrivateManifest(
  folder: string,
  providerId: string,
  isFolderOptional: boolean,
): ReturnType<CommandDeps["checkPrivateManifest"]> {
  if (!existsSync(folder)) {
    if (isFolderOptional) return { ok: true, isThere: false };
    return no(`${folder}: there is no such folder; check --manifests`);
  }
  const found = readManifests(folder).find(({ manifest }) => manifest.provider.id === providerId);
  if (found === undefined) {
    const next = 'put one with `"listing": "private"` there, or name its folder with --manifests';
    return no(`no manifest in ${folder} is for provider ${providerId}; ${next}`);
  }
  if (found.manifest.provider.listing === "private") return { ok: true, isThere: true };
  const next = `set \`provider.listing\` to "private" in ${join(folder, found.file)}`;
  return no(`the manifest of ${providerId} is public, so every organization can use it; ${next}`);
}

function no(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

function readManifests(folder: string): readonly ManifestFile[] {
  const files = listJsonFiles(folder).map((file) => {
    return { file, text: readFileSync(join(folder, file), "utf8") };
  });
  const parsed = parseManifestFiles(files);
  if (parsed.ok) return parsed.manifests;
  throw invalid("nothing was added: the manifests are not valid", parsed.issues);
}

/**
 * Compiles the manifests folder, to check ids of providers and models. Private addresses are
 * allowed here, because the HTTP client itself refuses to connect to them.
 */
function readCatalog({ env }: CommandContext, { manifestsDir }: Config): Catalog {
  const loaded = loadCatalog({ manifestsDir, env, clock, allowPrivateUpstreams: true });
  if (loaded.ok) return loaded.catalog;
  throw invalid("the manifests cannot be compiled", loaded.issues);
}

function invalid(what: string, issues: readonly CatalogIssue[]): UsageFault {
  return new UsageFault(`${what}:\n${issues.map(renderIssue).join("\n")}`);
}
