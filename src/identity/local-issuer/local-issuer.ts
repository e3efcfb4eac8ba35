import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Provider } from "oidc-provider";

import { type Clock, isEmail, type Logger, normaliseEmail } from "../../core/index.ts";
import type { PlainPage } from "../../plain-page/index.ts";
import { hashOf, newBrowserToken } from "../browser-token.ts";
import { cookieJar, isToken } from "../cookies.ts";
import type { LocalIssuerStore } from "../identity-store.ts";
import { claimPage, errorPage, spentLinkPage, unclaimedPage } from "./issuer-pages.ts";
import { LOCAL_ISSUER_PATH, openLocalProvider, PROVIDER_COOKIES } from "./local-provider.ts";

const FORM_BYTES_MAX = 4_096;
const FORM_TIMEOUT_MS = 10_000;
const BROWSER_SECONDS = 7 * 24 * 3_600;
const OWNER_EMAIL = "owner@localhost.localdomain";

export interface LocalIssuerOptions {
  /** Known once the console listens; asked anew for every request. */
  readonly consoleUrl: () => string;
  readonly store: LocalIssuerStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Everything under `/local-idp`: the pages of the bundled issuer and its protocol. */
export function localIssuer(options: LocalIssuerOptions): RequestListener {
  const issuer = new LocalIssuer(options);
  return (request, response) => {
    issuer.serve(request, response).catch((fault: unknown) => {
      options.log.error({ err: fault }, "the bundled issuer failed");
      if (response.headersSent) response.destroy();
      else sendPage(response, 500, errorPage());
    });
  };
}

class LocalIssuer {
  readonly #options: LocalIssuerOptions;
  #opened: { readonly consoleUrl: string; readonly provider: Promise<Provider> } | undefined;

  constructor(options: LocalIssuerOptions) {
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://console.invalid");
    const path = pathname.slice(LOCAL_ISSUER_PATH.length);
    if (path === "/claim") return await this.#claim(request, response, searchParams);
    const provider = await this.#provider();
    seenAs(request, this.#options.consoleUrl());
    if (path.startsWith("/interaction/")) return await this.#interact(provider, request, response);
    mount(request);
    await provider.callback()(request, response);
  }

  async #claim(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    if (request.method === "POST") return await this.#takeClaim(request, response);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD, POST");
      return sendPage(response, 405, errorPage());
    }
    const token = query.get("t") ?? "";
    const claim = await this.#findClaim(token);
    if (claim === undefined) return sendPage(response, 410, spentLinkPage());
    // Opening the link uses nothing up: mail scanners and previews open links too.
    sendPage(response, 200, claimPage({ token, email: claim.email, suggested: OWNER_EMAIL }));
  }

  async #takeClaim(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request);
    if (form === undefined) return sendPage(response, 400, errorPage());
    const token = form.get("t") ?? "";
    const email = form.get("email") ?? "";
    const claim = await this.#findClaim(token);
    if (claim === undefined) return sendPage(response, 410, spentLinkPage());
    if (!isEmail(email.trim())) {
      const refused = email.slice(0, 320);
      const page = claimPage({ token, email: claim.email, suggested: OWNER_EMAIL, refused });
      return sendPage(response, 422, page);
    }
    const { clock, store, consoleUrl } = this.#options;
    const nowMs = clock.nowMs();
    const browser = newBrowserToken();
    const isTaken = await store.takeClaim(hashOf(token), {
      tokenHash: browser.hash,
      email: normaliseEmail(email),
      nowMs,
      expiresAtMs: nowMs + BROWSER_SECONDS * 1_000,
    });
    if (!isTaken) return sendPage(response, 410, spentLinkPage());
    const jar = cookieJar(consoleUrl());
    response.setHeader("set-cookie", [
      jar.write("local", browser.token, BROWSER_SECONDS),
      // A sign-in that another user began in this browser is over.
      `${PROVIDER_COOKIES.session}=; Path=${LOCAL_ISSUER_PATH}; Max-Age=0; HttpOnly; SameSite=Lax`,
    ]);
    redirect(response, "/auth/start");
  }

  async #findClaim(token: string): Promise<{ readonly email: string | null } | undefined> {
    if (!isToken(token)) return undefined;
    return await this.#options.store.findClaim(hashOf(token), this.#options.clock.nowMs());
  }

  /** The issuer wants to know who is there: the owner of this browser, or no user. */
  async #interact(
    provider: Provider,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { store, clock, consoleUrl } = this.#options;
    const token = cookieJar(consoleUrl()).read("local", request.headers.cookie);
    const email =
      token === undefined ? undefined : await store.findBrowser(hashOf(token), clock.nowMs());
    if (email === undefined) return sendPage(response, 403, unclaimedPage());
    try {
      const login = { accountId: email, remember: false };
      const next = await provider.interactionResult(request, response, { login });
      redirect(response, next);
    } catch (fault) {
      if (!(fault instanceof Error) || fault.name !== "SessionNotFound") throw fault;
      sendPage(response, 400, errorPage());
    }
  }

  #provider(): Promise<Provider> {
    const consoleUrl = this.#options.consoleUrl();
    if (this.#opened?.consoleUrl !== consoleUrl) {
      const { store, clock, log } = this.#options;
      const provider = openLocalProvider({ consoleUrl, store, clock, log });
      this.#opened = { consoleUrl, provider };
    }
    return this.#opened.provider;
  }
}

/** The issuer builds addresses from the request: they are those that the browser uses. */
function seenAs(request: IncomingMessage, consoleUrl: string): void {
  const { host, protocol } = new URL(consoleUrl);
  delete request.headers["x-forwarded-host"];
  delete request.headers["x-forwarded-for"];
  request.headers["x-forwarded-proto"] = protocol.slice(0, -1);
  request.headers.host = host;
}

function mount(request: IncomingMessage & { originalUrl?: string }): void {
  const url = request.url ?? "/";
  request.originalUrl = url;
  const rest = url.slice(LOCAL_ISSUER_PATH.length);
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}

/** The fields of a small form; undefined: it is too long, too slow, or no form. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("application/x-www-form-urlencoded")) return undefined;
  const timer = setTimeout(() => request.destroy(), FORM_TIMEOUT_MS);
  try {
    let text = "";
    for await (const part of request) {
      text += Buffer.from(part as Uint8Array).toString("latin1");
      if (text.length > FORM_BYTES_MAX) return undefined;
    }
    return new URLSearchParams(text);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

function sendPage(response: ServerResponse, status: number, page: PlainPage): void {
  writeHeaders(response);
  response.setHeader("content-security-policy", page.policy);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.statusCode = status;
  response.end(page.html);
}

function redirect(response: ServerResponse, location: string): void {
  writeHeaders(response);
  response.setHeader("location", location);
  response.statusCode = 303;
  response.end();
}

function writeHeaders(response: ServerResponse): void {
  response.setHeader("cache-control", "no-store");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-content-type-options", "nosniff");
}
