import type { Server } from "node:http";

import type { Logger } from "pino";

import {
  type Billing,
  type BillingOptions,
  notingPurchases,
  notingWebhooks,
  openBilling,
} from "../billing/index.ts";
import type { CallPorts } from "../call/index.ts";
import type { CatalogHolder } from "../catalog/index.ts";
import { byGateway } from "../changes/index.ts";
import type { Config } from "../config/index.ts";
import { type ConsoleDeps, createConsoleServer } from "../console-api/index.ts";
import { ClientAddresses, type Clock } from "../core/index.ts";
import { type Identity, makeClaimLink, openIdentity } from "../identity/index.ts";
import { openModelCaller, openOptimize, type OptimizeSearches } from "../optimize/index.ts";
import { startUsageRollup } from "../records/index.ts";
import type { Verification } from "../verification/index.ts";
import { checkConnection } from "./check-connection.ts";
import { EventCounts } from "./event-counts.ts";
import type { Backend } from "./open-backend.ts";
import { openConfiguredVault } from "./open-key-vault.ts";
import { CONSOLE_PAGES } from "./shipped-files.ts";

export interface ConsoleOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Backend;
  /** Test money: `dev`'s own checkout replaces Stripe. */
  readonly testCheckout?: NonNullable<BillingOptions["testCheckout"]>;
  /** Where purchases, webhooks and sign-ins are counted. */
  readonly events?: EventCounts;
}

/** Base addresses without a slash at the end; known once the listeners are open. */
export interface Addresses {
  readonly consoleUrl: () => string;
  /** The one that clients call. */
  readonly gatewayUrl: () => string;
}

/** Who signs in and who pays: what a wrong setting can spoil. */
export interface PreparedConsole {
  readonly identity: Identity;
  readonly billing: Billing;
  close(): Promise<void>;
}

/** Opens what depends on settings alone, before anything is opened that would have to be closed. */
export async function prepareConsole(
  options: ConsoleOptions,
  addresses: Addresses,
): Promise<PreparedConsole> {
  const { config, clock, log, backend, testCheckout, events = new EventCounts() } = options;
  const common = { config, clock, log, consoleUrl: addresses.consoleUrl };
  const opened = openBilling({
    ...common,
    store: notingPurchases(backend.purchaseStore, events.purchase),
    ...(testCheckout === undefined ? {} : { testCheckout }),
  });
  const billing = notingWebhooks(opened, events.webhook);
  const store = backend.identityStore;
  const identity = await openIdentity({ ...common, store, onSignIn: events.signIn });
  return {
    identity,
    billing,
    close: async () => {
      await billing.close();
      await identity.close();
    },
  };
}

/** The console of one process. */
export interface RunningConsole {
  readonly server: Server;
  /** Starts background work; the listeners are open. */
  start(): void;
  /** Ends the searches: they make calls as long as they run. */
  endSearches(): Promise<void>;
  /** A one-time link that signs in at the bundled issuer; undefined where there is none. */
  makeClaimLink(email?: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** What the console shows and calls of the gateway in the same process. */
interface GatewayParts {
  readonly catalog: CatalogHolder;
  readonly serve: CallPorts;
  readonly verification: Verification;
  /** Makes a chat call of wire_a within this process. */
  readonly chat: Parameters<typeof openModelCaller>[0];
  readonly playground: ConsoleDeps["playground"];
  readonly serverResponse: ConsoleDeps["serverResponse"];
}

/** Puts the console together; it is not listening yet. */
export async function openConsole(
  options: ConsoleOptions,
  parts: PreparedConsole & Addresses & GatewayParts,
): Promise<RunningConsole> {
  const { config, clock, log, backend } = options;
  const { catalog, serve, identity, billing, consoleUrl, gatewayUrl, playground } = parts;
  const optimize = openSearches(options, parts);
  const vault = openConfiguredVault(config);
  const console = await createConsoleServer({
    identity,
    billing,
    optimize,
    reports: backend.usageReports,
    customers: backend.customerStore,
    rules: backend.rulesStore,
    connections: backend.connectionStore,
    vault,
    checkConnection: async (connection) =>
      vault === undefined
        ? undefined
        : await checkConnection(connection, { catalog: catalog.current, config, vault }),
    records: backend.recordStore,
    abuseRestrictions: backend.usageHoldStore,
    catalog,
    limitUse: { ...serve, rules: backend.rulesStore, limitDefaults: config },
    health: serve.health,
    verification: parts.verification,
    verdicts: backend.verdictStore,
    playground,
    serverResponse: parts.serverResponse,
    changes: backend.changeStore,
    clientAddresses: new ClientAddresses(config.trustedProxies),
    config,
    clock,
    log,
    staticDir: CONSOLE_PAGES,
    consoleUrl,
    gatewayUrl,
  });
  let rollup: ReturnType<typeof startUsageRollup> | undefined;
  return {
    server: console.server,
    start: () => {
      billing.start();
      rollup = startUsageRollup({ rollup: backend.usageRollup, log });
    },
    endSearches: () => optimize.close(),
    makeClaimLink: async (email) => {
      if (!identity.isLocal) return undefined;
      const by = byGateway("start");
      const asked = { store: backend.identityStore.local, clock, consoleUrl: consoleUrl(), by };
      const link = await makeClaimLink({ ...asked, ...(email === undefined ? {} : { email }) });
      return link.url;
    },
    close: async () => {
      await console.close();
      await rollup?.close();
    },
  };
}

function openSearches(
  { config, clock, log, backend }: ConsoleOptions,
  { catalog, chat }: GatewayParts,
): OptimizeSearches {
  return openOptimize({
    store: backend.optimizeStore,
    clock,
    log,
    caller: openModelCaller(chat, clock),
    callGapMs: config.optimizeCallGapMs,
    isChatModel: (id) => catalog.current.find(id)?.modality === "text",
  });
}
