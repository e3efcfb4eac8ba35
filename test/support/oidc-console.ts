import { createServer } from "node:http";

import { createRequestId } from "../../src/kernel/core/ids.ts";
import type { Redirect } from "../../src/account/identity/identity-store.ts";
import type { IdentityStore } from "../../src/account/identity/postgres-identity-store.ts";
import { openIdentity, type IdentityConfig } from "../../src/account/identity/open-identity.ts";
import type { Logger } from "../../src/kernel/core/log.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import { MovableClock } from "./clocks.ts";
import { listenLocally } from "./local-server.ts";
import { startOidcProvider, type ScriptedProvider } from "./oidc-provider.ts";
import { silentLog } from "./silent-log.ts";

export class ShiftedClock extends MovableClock {
  forward(ms: number): void {
    this.moveOn(ms);
  }
}

export type OidcConsole = Awaited<ReturnType<typeof startOidcConsole>>;
export type OidcSite = Awaited<ReturnType<typeof startOidcSite>>;

const PLAIN: IdentityConfig = {
  consoleUrl: "",
  host: "127.0.0.1",
  oidcIssuer: "",
  oidcClientId: "",
  oidcClientSecret: "",
  oidcProviderName: "",
  oidcIsEmailTrusted: false,
  oidcVerifiedAsText: false,
  localSignIn: false,
  allowInsecureConsole: false,
  welcomeUsd: "",
};

export async function startOidcConsole(options: {
  readonly store: IdentityStore;
  /** Called with the console's address; returns settings that depend on it. */
  readonly config?: (consoleUrl: string) => Promise<Partial<IdentityConfig>>;
  readonly clock?: ShiftedClock;
  readonly log?: Logger;
  /** The address that the console believes to be its own, such as that of another process. */
  readonly answersAs?: string;
}) {
  const server = createServer();
  const { url, close } = await listenLocally(server);
  const clock = options.clock ?? new ShiftedClock();
  const identity = await openIdentity({
    config: { ...PLAIN, ...(await options.config?.(url)) },
    consoleUrl: () => options.answersAs ?? url,
    store: options.store,
    clock,
    log: options.log ?? silentLog,
  });
  server.on("request", (request, response) => {
    const target = new URL(request.url ?? "/", url);
    const cookieHeader = request.headers.cookie;
    const returnPath = target.searchParams.get("return") ?? undefined;
    const { signIns } = identity;
    const steps: Readonly<Record<string, () => Promise<Redirect> | undefined>> = {
      "/auth/start": () => signIns?.start(returnPath),
      "/auth/recheck": () => signIns?.startRecheck(cookieHeader, returnPath),
      "/auth/sign-out": () => identity.signOut(cookieHeader),
      "/auth/callback": () =>
        signIns?.finish({
          url: request.url ?? "/",
          cookieHeader,
          userAgent: request.headers["user-agent"],
          requestId: createRequestId(clock.nowMs()),
        }),
    };
    const next = steps[target.pathname]?.();
    if (next === undefined) {
      response.end(`page ${target.pathname}`);
      return;
    }
    next.then(
      ({ location, cookies }) =>
        response.writeHead(303, { location, "set-cookie": [...cookies] }).end(),
      () => response.writeHead(500).end(),
    );
  });
  return {
    url,
    identity,
    clock,
    close: async () => {
      await identity.close();
      await close();
    },
  };
}

export function oidcConfigOf({ issuer, clientId, clientSecret }: ScriptedProvider) {
  return { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret };
}

export async function startOidcSite(options: {
  readonly store: IdentityStore;
  readonly log?: Logger;
  readonly claimsIn?: "userinfo";
}) {
  const { claimsIn = "id_token", ...more } = options;
  const started: ScriptedProvider[] = [];
  const site = await startOidcConsole({
    ...more,
    config: async (url) => {
      const redirectUris = [`${url}/auth/callback`];
      const provider = await startOidcProvider({ redirectUris, claimsIn });
      started.push(provider);
      return oidcConfigOf(provider);
    },
  });
  const [provider] = started;
  assert(provider !== undefined, "the provider has started");
  return {
    ...site,
    provider,
    close: async () => {
      await site.close();
      await provider.close();
    },
  };
}
