import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { Redirect } from "../identity/index.ts";
import { sendRefusal } from "./answer-request.ts";
import { askedFrom } from "./client-address-of.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { foreignOriginProblem } from "./guard-request.ts";
import { otherName } from "./other-name.ts";

const LOGOUT_TOKEN_BYTES_MAX = 64 * 1024;
const RETURN_CHARS_MAX = 2_000;

/** Signing in, staying so, signing out: the browser's side of `identity`. */
export function authRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  const { identity } = deps;
  app.get("/auth/start", ONCE, async (request, reply) => {
    if (identity.signInName === null) return follow(reply, SIGN_IN_PAGE);
    const { host } = request.headers;
    const there = otherName({ host, url: request.url, consoleUrl: deps.consoleUrl() });
    if (there !== undefined) return follow(reply, { location: there, cookies: [] });
    const returnPath = returnPathOf(request);
    return await redirecting(deps, reply, () => identity.startSignIn({ returnPath }));
  });
  app.get("/auth/callback", ONCE, async (request, reply) =>
    redirecting(deps, reply, () =>
      identity.finishSignIn({
        url: request.url,
        cookieHeader: request.headers.cookie,
        userAgent: request.headers["user-agent"],
        ...askedFrom(deps, request),
      }),
    ),
  );
  app.get("/auth/recheck", ONCE, async (request, reply) =>
    redirecting(deps, reply, () =>
      identity.startRecheck({
        cookieHeader: request.headers.cookie,
        returnPath: returnPathOf(request),
      }),
    ),
  );
  app.post("/auth/sign-out", async (request, reply) => {
    const { method, headers } = request;
    const foreign = foreignOriginProblem({ method, headers }, deps.consoleUrl());
    if (foreign !== undefined) return sendRefusal(reply, foreign);
    return follow(reply, await identity.signOut(headers.cookie, askedFrom(deps, request)));
  });
  void app.register(async (scope) => backChannelLogout(scope, deps));
  if (identity.localIssuer !== undefined) {
    const { localIssuer } = identity;
    void app.register(async (scope) => localIssuerPages(scope, localIssuer));
  }
}

/* HEAD would begin what GET begins. */
const ONCE = { exposeHeadRoute: false };
const SIGN_IN_PAGE: Redirect = { location: "/sign-in", cookies: [] };
const FAILED: Redirect = { location: "/sign-in?reason=failed", cookies: [] };

function returnPathOf({ query }: FastifyRequest): string | undefined {
  const asked = (query as Readonly<Record<string, unknown>>)["return"];
  return typeof asked === "string" && asked.length <= RETURN_CHARS_MAX ? asked : undefined;
}

/** A browser that is on its way somewhere is shown a page, whatever went wrong. */
async function redirecting(
  { log }: ConsoleDeps,
  reply: FastifyReply,
  find: () => Promise<Redirect>,
): Promise<FastifyReply> {
  try {
    return follow(reply, await find());
  } catch (fault) {
    const { id: request_id, routeOptions } = reply.request;
    log.error({ err: fault, request_id, route: routeOptions.url ?? null }, "signing in failed");
    return follow(reply, FAILED);
  }
}

function follow(reply: FastifyReply, { location, cookies }: Redirect): FastifyReply {
  if (cookies.length > 0) reply.header("set-cookie", [...cookies]);
  return reply.redirect(location, 303);
}

/** The identity provider's own call: its signed token is its proof, so no origin is asked for. */
function backChannelLogout(scope: FastifyInstance, { identity }: ConsoleDeps): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: LOGOUT_TOKEN_BYTES_MAX },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  scope.post("/auth/backchannel-logout", async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : undefined;
    const token = form?.get("logout_token") ?? "";
    const isDone = token !== "" && (await identity.backChannelLogout(token));
    return isDone ? reply.code(200).send() : sendRefusal(reply, NO_PROOF);
  });
}

const NO_PROOF = new ConsoleRefusal({
  status: 400,
  code: "invalid_request",
  message: "logout_token is not valid; send a signed logout token of the identity provider",
  field: "logout_token",
});

/** The bundled issuer answers for itself, forms and all. */
function localIssuerPages(
  scope: FastifyInstance,
  localIssuer: NonNullable<ConsoleDeps["identity"]["localIssuer"]>,
): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null, undefined));
  const serve = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    // Its own values of these are kept.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined && name !== "content-security-policy") {
        reply.raw.setHeader(name, value);
      }
    }
    localIssuer(request.raw, reply.raw);
  };
  scope.all("/local-idp", serve);
  scope.all("/local-idp/*", serve);
}
