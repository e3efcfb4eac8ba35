import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { sendRefusal } from "./answer-request.ts";
import { safeReturnPath } from "../identity/browser-token.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { unavailable } from "./console-refusal.ts";
import { landingPage } from "./landing-page.ts";
import { isOperator, NO_SUCH_PATH, otherName } from "./guard-request.ts";
import { pagePolicy } from "./security-headers.ts";

const NONCE_BYTES = 16;
const NONCE_MARK = "__CSP_NONCE__";
const INDEX = "index.html";

/** Serves the built pages' files. Those with a hash in their name may be cached permanently. */
export function pageRoutes(app: FastifyInstance, { staticDir }: ConsoleDeps): void {
  if (!existsSync(join(staticDir, INDEX))) return;
  const assets = join(staticDir, "assets");
  if (existsSync(assets)) {
    // Without this route, a request for the folder itself would be a fault instead of a 404.
    app.get("/assets/", (_request, reply) => reply.callNotFound());
    void app.register(fastifyStatic, {
      root: assets,
      prefix: "/assets/",
      decorateReply: false,
      immutable: true,
      maxAge: "1y",
      index: false,
      dotfiles: "ignore",
      // The build writes `.br` and `.gz` files. Answers of the API are never compressed: their
      // length would reveal secrets in them.
      preCompressed: true,
      setHeaders: (raw) => void raw.setHeader("vary", "accept-encoding"),
    });
  }
  void app.register(fastifyStatic, { root: staticDir, serve: false, maxAge: "1h" });
  for (const entry of readdirSync(staticDir, { withFileTypes: true })) {
    const isServed = entry.isFile() && !entry.name.startsWith(".") && entry.name !== INDEX;
    if (!isServed) continue;
    app.get(`/${entry.name}`, async (_request, reply) => reply.sendFile(entry.name));
  }
}

/**
 * Answers with a page if the browser wants one, else with a refusal. Paths of the API and of the
 * gateway are never pages, so that they answer 404 even at an address that also serves pages.
 */
export async function refuseUnknownPath(
  deps: ConsoleDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [path = "/"] = request.url.split("?", 1);
  const isRead = request.method === "GET" || request.method === "HEAD";
  const accepts = request.headers.accept ?? "*/*";
  if (!isRead || isReservedPath(path)) return sendRefusal(reply, NO_SUCH_PATH);
  const { url, headers } = request;
  const visitor = isPagePath(path)
    ? await orUnknown(deps, request, () => deps.identity.readSession(headers.cookie))
    : undefined;
  const isPage = isPagePath(path) && mayOpen(deps, path, visitor);
  const isWanted = accepts.includes("text/html") || (isPage && accepts.includes("*/*"));
  if (!isWanted) return sendRefusal(reply, NO_SUCH_PATH);
  const there = otherName({ host: headers.host, url, consoleUrl: deps.consoleUrl() });
  const elsewhere =
    there ?? (isPage ? await findDetour(deps, request, { path, visitor }) : undefined);
  if (elsewhere !== undefined) return reply.redirect(elsewhere, 303);
  if (path === "/sign-in" || (path === "/" && visitor === undefined)) {
    return sendLanding(deps, request, reply);
  }
  return await sendPage(deps, reply, isPage ? 200 : 404);
}

type Visitor = SignedIn | undefined | "unknown";

async function orUnknown<T>(
  { log }: ConsoleDeps,
  { id }: FastifyRequest,
  read: () => Promise<T>,
): Promise<T | "unknown"> {
  try {
    return await read();
  } catch (fault) {
    log.warn({ err: fault, request_id: id }, "the session of a page load could not be read");
    return "unknown";
  }
}

function mayOpen({ operators }: ConsoleDeps, path: string, visitor: Visitor): boolean {
  if (!/^\/operator(\/|$)/.test(path)) return true;
  return visitor !== undefined && visitor !== "unknown" && isOperator(visitor, operators);
}

function sendLanding(
  { identity, config, catalog, gatewayUrl }: ConsoleDeps,
  { url }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const query = parseQuery(url);
  const { html, policy } = landingPage({
    ...config,
    signInName: identity.signInName,
    isLocal: identity.isLocal,
    back: findReturnPath(url),
    reason: query.get("reason") ?? undefined,
    requestId: query.get("request_id") ?? undefined,
    gatewayUrl: gatewayUrl(),
    models: catalog.current.models,
  });
  return reply
    .header("content-security-policy", policy)
    .header("cache-control", "no-store")
    .type("text/html; charset=utf-8")
    .send(html);
}

function parseQuery(url: string): URLSearchParams {
  const [, query = ""] = url.split("?", 2);
  return new URLSearchParams(query);
}

function findReturnPath(url: string): string | undefined {
  return safeReturnPath(parseQuery(url).get("return") ?? undefined);
}

const NOT_BUILT = unavailable(
  "the console's pages are not built; run `npm run build` and restart. The API works",
);

async function sendPage(
  { staticDir }: ConsoleDeps,
  reply: FastifyReply,
  status: number,
): Promise<FastifyReply> {
  const html = await readFile(join(staticDir, INDEX), "utf8").catch(() => undefined);
  if (html === undefined) return sendRefusal(reply, NOT_BUILT);
  const nonce = randomBytes(NONCE_BYTES).toString("base64");
  return reply
    .code(status)
    .header("content-security-policy", pagePolicy(nonce))
    .header("cache-control", "no-store")
    .type("text/html; charset=utf-8")
    .send(html.replaceAll(NONCE_MARK, nonce));
}

/**
 * Where a browser must go first: to the identity provider if a recheck of its session is due, to
 * the sign-in page if its session has ended. A page also loads while the session cannot be read;
 * its own requests are then refused.
 */
async function findDetour(
  deps: ConsoleDeps,
  request: FastifyRequest,
  { path, visitor }: { readonly path: string; readonly visitor: Visitor },
): Promise<string | undefined> {
  const { identity } = deps;
  const { headers, url } = request;
  // `/join` gets no detour: a browser would keep its fragment, an invitation's token.
  if (headers.cookie === undefined || path === "/join" || visitor === "unknown") return undefined;
  const back = `return=${encodeURIComponent(url)}`;
  if (visitor !== undefined) {
    // The person has signed in already, perhaps in another tab.
    if (path === "/sign-in") return findReturnPath(url) ?? "/";
    return identity.isRecheckDue(visitor) ? `/auth/recheck?${back}` : undefined;
  }
  if (!isPagePath(path) || !PRIVATE.test(path)) return undefined;
  const reason = await orUnknown(deps, request, () => identity.sessionEndReason(headers.cookie));
  if (reason === undefined || reason === "unknown") return undefined;
  return `/sign-in?reason=${reason}&${back}`;
}

/** The paths of the pages; they must match the router in the browser. */
const PAGES: readonly RegExp[] = [
  /^\/$/,
  /^\/(sign-in|verify|join|for-providers|welcome|usage|limits|connections|playground)$/,
  /^\/docs(\/[a-z-]+|\/reference\/[a-z0-9_]+)?$/,
  /^\/settings(\/(organization|changes|alerts|members))?$/,
  /^\/(keys|optimize|providers)(\/[^/]+)?$/,
  /^\/billing(\/(return\/[^/]+|purchases\/[^/]+\/receipt|company|statements(\/[^/]+)?))?$/,
  /^\/requests\/[^/]+$/,
  /^\/operator(\/(health|changes|review|listings|settlement))?$/,
  /^\/operator\/organizations(\/[^/]+(\/requests\/[^/]+)?)?$/,
  // Model ids contain slashes.
  /^\/models(\/.+)?$/,
];

export function isPagePath(path: string): boolean {
  return PAGES.some((page) => page.test(path));
}

/* The pages that require a session (without one, `/` is the sign-in page); the others do not. */
const PRIVATE =
  /^\/(|welcome|usage|limits|connections|playground)$|^\/(settings|keys|optimize|billing|requests|operator)(\/|$)/;

/** Paths of the console's and the gateway's routes and of built files, which are never pages. */
const RESERVED = /^\/(login|v1|api|images|auth|webhooks|assets|playground\/v1)(\/|$)/i;

export function isReservedPath(path: string): boolean {
  return RESERVED.test(path) || path.startsWith("//");
}
