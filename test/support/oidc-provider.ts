import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from "jose";
import type { Adapter, AdapterPayload, Configuration, Provider } from "oidc-provider";

import { systemClock } from "../../src/kernel/core/time.ts";
import { listenLocally } from "./local-server.ts";

/** A person at the identity provider, whose data a test may change while the provider runs. */
export interface ScriptedAccount {
  subject: string;
  email?: string;
  /** If absent, the provider does not say whether the address is verified. */
  emailVerified?: boolean | "true" | "false";
  name?: string;
}

export type ScriptedProvider = Awaited<ReturnType<typeof startOidcProvider>>;

const CLIENT_ID = "console";
const CLIENT_SECRET = "a-secret-of-the-console-0123456789";
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** Starts a real OpenID provider on a loopback port, whose people are scripted. */
export async function startOidcProvider(options: {
  readonly redirectUris: readonly string[];
  readonly claimsIn?: "id_token" | "userinfo";
}) {
  const server = createServer();
  const { url: issuer, close } = await listenLocally(server);
  const script = new Script();
  const privateKey = await signingKey();
  const jwk = { ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "scripted" };
  const ProviderClass = await loadOidcProvider();
  const provider = new ProviderClass(issuer, {
    ...configurationOf(script, options.redirectUris),
    jwks: { keys: [jwk] },
    conformIdTokenClaims: options.claimsIn === "userinfo",
  });
  server.on("request", (request, response) => {
    script.serve(provider, request, response).catch(() => response.destroy());
  });
  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    /** Signs every user in as this person from now on, without a prompt; null: they decline. */
    signInAs: (account: ScriptedAccount | null) => script.signInAs(account),
    /** Ends all sessions of the provider, so that silent requests get `login_required`. */
    endSessions: () => script.forget(["Session", "Grant"]),
    setDown: (isDown: boolean) => {
      script.isDown = isDown;
      if (isDown) server.closeAllConnections();
    },
    lastSid: () => script.lastSid(),
    /** Returns a signed logout token; `change` replaces claims, and undefined removes one. */
    logoutToken: (change: JWTPayload) => {
      const iat = Math.floor(systemClock.nowMs() / 1_000);
      const life = { iat, exp: iat + 120 };
      const claims = { iss: issuer, aud: CLIENT_ID, jti: crypto.randomUUID(), ...life };
      return new SignJWT({ ...claims, events: { [LOGOUT_EVENT]: {} }, ...change })
        .setProtectedHeader({ alg: "RS256", kid: "scripted", typ: "logout+jwt" })
        .sign(privateKey);
    },
    close,
  };
}

/** Suppresses the provider's warning that it needs a later Node: the parts in use work on 20. */
async function loadOidcProvider(): Promise<typeof Provider> {
  const warn = console.warn;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes("Unsupported runtime")) warn(...words);
  };
  try {
    return (await import("oidc-provider")).Provider;
  } finally {
    console.warn = warn;
  }
}

let madeKey: Promise<CryptoKey> | undefined;

/** All providers of a process share one key, because creating one takes long. */
function signingKey(): Promise<CryptoKey> {
  madeKey ??= generateKeyPair("RS256", { extractable: true }).then((pair) => pair.privateKey);
  return madeKey;
}

class Script {
  readonly records = new Map<string, AdapterPayload>();
  isDown = false;
  #current: ScriptedAccount | null = null;
  readonly accounts = new Map<string, ScriptedAccount>();

  signInAs(account: ScriptedAccount | null): void {
    this.#current = account;
    if (account !== null) this.accounts.set(account.subject, account);
  }

  forget(kinds: readonly string[]): void {
    for (const key of this.records.keys()) {
      if (kinds.some((kind) => key.startsWith(`${kind}:`))) this.records.delete(key);
    }
  }

  lastSid(): string | undefined {
    const sessions = [...this.records].filter(([key]) => key.startsWith("Session:"));
    return sessions.at(-1)?.[1].authorizations?.[CLIENT_ID]?.sid;
  }

  async serve(provider: Provider, request: IncomingMessage, response: ServerResponse) {
    if (this.isDown) return void request.socket.destroy();
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    // Drops the cookie, so that the provider prompts and a browser may sign in as another person.
    if (pathname === "/auth" && searchParams.get("prompt") !== "none") {
      delete request.headers.cookie;
    }
    if (!pathname.startsWith("/interaction/")) return await provider.callback()(request, response);
    const { prompt } = await provider.interactionDetails(request, response);
    await provider.interactionFinished(request, response, this.#answer(prompt.name));
  }

  #answer(prompt: string): Parameters<Provider["interactionFinished"]>[2] {
    if (this.#current === null) return { error: "access_denied" };
    if (prompt === "consent") return { consent: {} };
    return { login: { accountId: this.#current.subject, remember: true } };
  }
}

function configurationOf(script: Script, redirectUris: readonly string[]): Configuration {
  return {
    adapter: (kind: string) => mapAdapter(kind, script.records),
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code"],
        // The session id is only given to a client that accepts logout tokens. Nothing is sent to
        // this address.
        backchannel_logout_uri: "http://127.0.0.1:9/unused",
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    cookies: { names: { session: "idp_session", interaction: "idp_int", resume: "idp_resume" } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 86_400,
      IdToken: 600,
      Interaction: 600,
      Session: 86_400,
    },
    findAccount: (_context, subject) => {
      const account = script.accounts.get(subject);
      if (account === undefined) return undefined;
      const { email, emailVerified, name } = account;
      return {
        accountId: subject,
        claims: () => ({
          sub: subject,
          ...(email === undefined ? {} : { email }),
          ...(emailVerified === undefined ? {} : { email_verified: emailVerified }),
          ...(name === undefined ? {} : { name }),
        }),
      };
    },
    loadExistingGrant: async (context) => {
      const { client, session, provider } = context.oidc;
      if (client === undefined || session?.accountId === undefined) return undefined;
      const of = { clientId: client.clientId, accountId: session.accountId };
      const grant = new provider.Grant(of);
      grant.addOIDCScope("openid email profile offline_access");
      await grant.save();
      return grant;
    },
  };
}

/** Keeps the provider's records of one kind in a map that all kinds share. */
function mapAdapter(kind: string, records: Map<string, AdapterPayload>): Adapter {
  const key = (id: string): string => `${kind}:${id}`;
  return {
    upsert: async (id, payload) => {
      records.delete(key(id));
      records.set(key(id), structuredClone(payload));
    },
    find: async (id) => structuredClone(records.get(key(id))),
    findByUid: async (uid) => {
      const own = [...records].filter(([name]) => name.startsWith(key("")));
      return structuredClone(own.find(([, record]) => record.uid === uid)?.[1]);
    },
    findByUserCode: async () => undefined,
    consume: async (id) => {
      const record = records.get(key(id));
      if (record !== undefined) record.consumed = Math.floor(systemClock.nowMs() / 1_000);
    },
    destroy: async (id) => void records.delete(key(id)),
    revokeByGrantId: async (grantId) => {
      for (const [name, record] of records) if (record.grantId === grantId) records.delete(name);
    },
  };
}
