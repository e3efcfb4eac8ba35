import type { Logger } from "pino";

import {
  ArrivingBodies,
  type KeyVault,
  type CallPorts,
  startUsageRollup,
  type Verification,
} from "../gateway/index.ts";
import {
  AlertWorker,
  checkWebhookAddress,
  openWebhookSender,
  type BillingOptions,
  notingPurchases,
  notingTopUps,
  notingWebhooks,
  openAlertDocuments,
  openBilling,
  sellerOf,
  startStatementClosing,
  type ConsoleDeps,
  makeClaimLink,
  openIdentity,
  openModelCaller,
  type OptimizeOptions,
  OptimizeRuns,
  Invitations,
  type InvitationsOptions,
} from "../account/index.ts";
import type { CatalogHolder } from "../catalog/index.ts";
import {
  byGateway,
  type Config,
  defined,
  type Environment,
  type SettingsInForce,
  ClientAddresses,
  type Clock,
  normaliseEmail,
  openMailer,
  programSchemaLevel,
  splitList,
} from "../kernel/index.ts";
import { ForeignNames } from "../upstream/index.ts";
import { checkConnection } from "./check-connection.ts";
import type { EventCounts } from "./event-counts.ts";
import { readSettlementTerms } from "./load-catalog.ts";
import type { Backend } from "./open-backend.ts";
import { hasDefaultFolder } from "./open-catalog.ts";
import { readRefreshState } from "./refresh-state.ts";
import { CONSOLE_PAGES, programVersion, SHIPPED_SCHEMAS } from "./shipped-files.ts";
import { createConsoleServer } from "../account/console-api/console-server.ts";

export interface ConsoleOptions {
  /** The settings at the start. Values read from this object do not change at a reload. */
  readonly config: Config;
  readonly inForce: SettingsInForce;
  readonly env: Environment;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Backend;
  /** The checkout of `dev`, which sells credit for test money, without Stripe. */
  readonly testCheckout?: NonNullable<BillingOptions["testCheckout"]>;
  readonly events: EventCounts;
}

/** Base URLs, known only after the listeners are open. The console's has no trailing slash. */
export interface Addresses {
  readonly consoleUrl: () => string;
  readonly gatewayUrl: () => string;
}

/** Opens those parts of the console that may reject a setting, before the limits and the ledger. */
export async function prepareConsole(options: ConsoleOptions, addresses: Addresses) {
  const { config, inForce, clock, log, backend, testCheckout, events } = options;
  const common = { clock, log, consoleUrl: addresses.consoleUrl };
  const store = notingPurchases(backend.purchaseStore, events.purchase);
  const money = {
    config,
    secrets: () => inForce.current,
    store,
    seller: () => sellerOf(config, addresses.consoleUrl()),
    topUpStore: notingTopUps(backend.topUpStore, events.purchase),
    ...defined({ testCheckout }),
  };
  const billing = notingWebhooks(openBilling({ ...common, ...money }), events.webhook);
  const identity = await openIdentity({
    ...common,
    config,
    store: backend.identityStore,
    onSignIn: events.signIn,
  });
  return {
    identity,
    billing,
    close: async (): Promise<void> => {
      await billing.close();
      await identity.close();
    },
  };
}

interface GatewayParts {
  readonly catalog: CatalogHolder;
  readonly serve: CallPorts;
  readonly vault: KeyVault | undefined;
  readonly verification: Verification;
  /** Makes a chat call on wire_a within this process. */
  readonly chat: Parameters<typeof openModelCaller>[0];
  /** Computes the highest amount that a chat call can reserve. */
  readonly quote: OptimizeOptions["quote"];
  readonly playground: ConsoleDeps["playground"];
  readonly serverResponse: ConsoleDeps["serverResponse"];
  readonly ledger: { readonly hasGoneBack: boolean };
}

export async function openConsole(
  options: ConsoleOptions,
  parts: Awaited<ReturnType<typeof prepareConsole>> & Addresses & GatewayParts,
) {
  const { config, clock, log, backend } = options;
  const { catalog, serve, identity, billing, consoleUrl, gatewayUrl, vault } = parts;
  const optimize = openSearches(options, parts);
  const mailer = openMailer(config);
  const { worker, alerts } = openAlerts(options, { mailer, vault, consoleUrl });
  const console = await createConsoleServer({
    identity,
    billing,
    companies: backend.companyStore,
    statements: backend.statementStore,
    optimize,
    ...openOperator(options, parts),
    alerts,
    team: openTeam(options, { mailer, consoleUrl }),
    reports: backend.usageReports,
    listingFigures: backend.listingFigures,
    accounts: backend.accountStore,
    rules: backend.rulesStore,
    connections: backend.connectionStore,
    vault,
    checkConnection: async (connection) =>
      vault && (await checkConnection(connection, { catalog: catalog.current, config, vault })),
    records: backend.recordStore,
    abuseRestrictions: backend.usageHoldStore,
    catalog,
    limitUse: { ...serve, rules: backend.rulesStore },
    health: serve.health,
    verification: parts.verification,
    verdicts: backend.verdictStore,
    playground: parts.playground,
    serverResponse: parts.serverResponse,
    changes: backend.changeStore,
    clientAddresses: new ClientAddresses(config.trustedProxies),
    arriving: new ArrivingBodies(config.arrivingBytesMax),
    config,
    clock,
    log,
    staticDir: CONSOLE_PAGES,
    schemaDir: SHIPPED_SCHEMAS,
    consoleUrl,
    gatewayUrl,
  });
  const jobs: { close(): Promise<void> }[] = [];
  return {
    server: console.server,
    inFlight: () => console.inFlight(),
    start: (): void => {
      billing.start();
      worker.job.start();
      jobs.push(
        startUsageRollup({ rollup: backend.usageRollup, log }),
        startStatementClosing({ closing: backend.statementClosing, clock, log }),
      );
    },
    /** Ends the running Optimize searches, so that they make no further model calls. */
    endSearches: () => optimize.close(),
    makeClaimLink: async (email?: string): Promise<string | undefined> =>
      identity.isLocal ? await openClaimLink(options, consoleUrl(), email) : undefined,
    close: async (): Promise<void> => {
      await console.close();
      await worker.close();
      await Promise.all(jobs.map((job) => job.close()));
    },
  };
}

async function openClaimLink(
  { backend, clock }: ConsoleOptions,
  consoleUrl: string,
  email: string | undefined,
): Promise<string> {
  const store = backend.identityStore.links;
  const by = byGateway("start");
  return (await makeClaimLink(defined({ store, clock, consoleUrl, by, email }))).url;
}

function openSearches(
  { config, clock, log, backend }: ConsoleOptions,
  { catalog, chat, quote }: GatewayParts,
): OptimizeRuns {
  return new OptimizeRuns({
    store: backend.optimizeStore,
    clock,
    log,
    caller: openModelCaller(chat, clock),
    callGapMs: config.optimizeCallGapMs,
    quote,
    isFunded: async (orgId) => (await backend.accountStore.findOrg(orgId))?.isFunded === true,
    isChatModel: (id) => catalog.current.find(id)?.modality === "text",
  });
}

function openAlerts(
  { config, clock, log, backend }: ConsoleOptions,
  parts: Pick<GatewayParts & Addresses, "vault" | "consoleUrl"> & {
    readonly mailer: ReturnType<typeof openMailer>;
  },
): { readonly worker: AlertWorker; readonly alerts: ConsoleDeps["alerts"] } {
  const { mailer, vault, consoleUrl } = parts;
  const { allowPrivateUpstreams: allowPrivate, webhookNameServers } = config;
  const names = new ForeignNames(webhookNameServers.split(/[\s,]+/).filter((each) => each !== ""));
  const webhook = openWebhookSender({ clock, vault, allowPrivate, names });
  const queue = backend.alertQueue;
  const documentOf = openAlertDocuments(backend, () => sellerOf(config, consoleUrl()));
  return {
    worker: new AlertWorker({ queue, mailer, webhook, consoleUrl, documentOf, clock, log }),
    alerts: {
      store: backend.alertStore,
      mailer,
      mailsPerHourMax: config.smtpInvitationsPerHour,
      checkAddress: (url, orgId) =>
        checkWebhookAddress(url, { allowPrivate, find: names.of(orgId) }),
    },
  };
}

function openTeam(
  { config, clock, backend }: ConsoleOptions,
  parts: Pick<InvitationsOptions, "mailer" | "consoleUrl">,
): ConsoleDeps["team"] {
  const store = backend.teamStore;
  const mailsPerHourMax = config.smtpInvitationsPerHour;
  return { store, invitations: new Invitations({ store, clock, mailsPerHourMax, ...parts }) };
}

function openOperator(
  { config, inForce, backend, env, clock }: ConsoleOptions,
  { serve, ledger }: GatewayParts,
) {
  return {
    operators: new Set(splitList(config.operators).map(normaliseEmail)),
    orgs: backend.orgDirectory,
    credit: backend.creditStore,
    purchases: backend.purchaseStore,
    settlement: backend.settlementStore,
    readSettlementTerms: () => {
      const { manifestsDir } = config;
      const isFolderOptional = hasDefaultFolder(config);
      return readSettlementTerms({ manifestsDir, isFolderOptional, env, clock });
    },
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
      readLosses: (days: number) => backend.listingLosses(days),
      readRefreshWaits: () => readRefreshState(config.dataDir)?.waits ?? [],
      readReplicaLagMs: () => backend.replicaLagMs(),
    },
  };
}
