import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { type Catalog, CatalogHolder } from "../catalog/index.ts";
import { SettingsInForce } from "../kernel/index.ts";
import { listListeners, listenOn, type Listener } from "./check-ports.ts";
import { EventCounts } from "./event-counts.ts";
import { type CatalogOptions, firstCatalog } from "./open-catalog.ts";
import { openFeatures, type FeatureOptions } from "./open-features.ts";
import { Reloads, type SettingsSource } from "./reloads.ts";

export interface GatewayOptions
  extends
    Omit<FeatureOptions, "inForce" | "events">,
    Pick<CatalogOptions, "secrets" | "hide" | "rewriteManifests"> {
  /** Where settings are reloaded from. Default: they are not reloaded. */
  readonly settings?: SettingsSource;
}

export interface RunningGateway {
  readonly gatewayUrl: string;
  readonly consoleUrl: string;
  readonly internalUrl: string;
  readonly catalog: { readonly current: Catalog };
  /** One-time sign-in link; undefined if an identity provider signs people in or sign-in is off. */
  makeClaimLink(email?: string): Promise<string | undefined>;
  /** Reads manifests, secrets and settings again. The log reports the changes or the problem. */
  reload(): void;
  /** Takes no new requests; lets running ones end in the grace time, settles them, and closes. */
  close(): Promise<void>;
}

export async function openGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, backend } = options;
  const events = new EventCounts();
  const inForce = new SettingsInForce(config);
  const first = await firstCatalog(options);
  const holder = new CatalogHolder(first.catalog);
  const opened = await openFeatures({ ...options, events, inForce }, holder);
  const { servers, addresses } = opened;
  try {
    const { keyOwners } = first;
    const reloads = new Reloads({ options, events, inForce, holder, keyOwners });
    const listeners = listListeners(config);
    // This listener opens first, so that its probes answer while the other ports open. Its port is
    // exclusive, because each process has its own metrics; cluster workers share all other ports.
    const internalUrl = await listen(servers.internal, listeners.internal, true);
    addresses.gatewayUrl = await listen(servers.gateway, listeners.gateway);
    const consoleUrl = await listen(servers.console, listeners.console);
    addresses.consoleUrl = config.consoleUrl || consoleUrl;
    // Stores the console's URL, so that other commands on the same database find the console.
    await backend.identityStore.links.noteConsole(opened.instanceId, addresses.consoleUrl);
    opened.start();
    reloads.watch();
    return {
      gatewayUrl: config.gatewayUrl || addresses.gatewayUrl,
      consoleUrl: addresses.consoleUrl,
      internalUrl,
      catalog: holder,
      makeClaimLink: (email) => opened.makeClaimLink(email),
      reload: () => reloads.all(),
      close: async () => {
        await reloads.close();
        await opened.close();
      },
    };
  } catch (fault) {
    await opened.close();
    throw fault;
  }
}

async function listen(server: Server, listener: Listener, exclusive = false): Promise<string> {
  await listenOn(server, listener, exclusive);
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name === "0.0.0.0" || name === "[::]" ? "127.0.0.1" : name}:${address.port}`;
}
