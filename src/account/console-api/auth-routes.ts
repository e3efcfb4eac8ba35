import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import {
  asText,
  escapeHtml,
  isEmail,
  plainPage,
  type PlainPage,
  textOf,
} from "../../kernel/index.ts";
import type { Redirect } from "../identity/identity-store.ts";
import { boundLinks } from "./alert-link-routes.ts";
import { sendPlainPage, sendRefusal } from "./answer-request.ts";
import {
  bytesReader,
  foreignOriginProblem,
  isFromOwnPage,
  otherName,
  readQuery,
  readOrigin,
} from "./guard-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { PRINT_LINK } from "./landing-page.ts";
import { invalidField } from "./console-refusal.ts";

const FORM_BYTES_MAX = 64 * 1024;

export function authRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  const { identity } = deps;
  const { signIns } = identity;
  app.get("/auth/start", ONCE, async (request, reply) => {
    if (signIns === undefined) return follow(reply, SIGN_IN_PAGE);
    const { host } = request.headers;
    const there = otherName({ host, url: request.url, consoleUrl: deps.consoleUrl() });
    if (there !== undefined) return follow(reply, { location: there, cookies: [] });
    return await redirecting(deps, reply, () => signIns.start(readReturnPath(request)));
  });
  app.get("/auth/callback", ONCE, async (request, reply) =>
    redirecting(deps, reply, async () => {
      const { cookie: cookieHeader, "user-agent": userAgent } = request.headers;
      const browser = { cookieHeader, userAgent, ...readOrigin(deps, request) };
      return (await signIns?.finish({ ...browser, url: request.url })) ?? FAILED;
    }),
  );
  app.get("/auth/recheck", ONCE, async (request, reply) =>
    redirecting(deps, reply, async () => {
      const { cookie } = request.headers;
      return (await signIns?.startRecheck(cookie, readReturnPath(request))) ?? FAILED;
    }),
  );
  app.post("/auth/sign-out", async (request, reply) => {
    const foreign = foreignOriginProblem(request, deps.consoleUrl());
    if (foreign !== undefined) return sendRefusal(reply, foreign);
    return follow(reply, await identity.signOut(request.headers.cookie, readOrigin(deps, request)));
  });
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const read = bytesReader(deps, FORM_BYTES_MAX);
    scope.addContentTypeParser("application/x-www-form-urlencoded", (request, payload, done) =>
      read(request, payload, (fault, body) => done(fault, new URLSearchParams(body?.toString()))),
    );
    backChannelLogout(scope, deps);
    if (identity.isLocal) linkRoutes(scope, deps);
  });
}

/* Without this, the framework would answer HEAD as well, which would start a sign-in like GET. */
const ONCE = { exposeHeadRoute: false };
const SIGN_IN_PAGE: Redirect = { location: "/sign-in", cookies: [] };
const FAILED: Redirect = { location: "/sign-in?reason=failed", cookies: [] };

function readReturnPath(request: FastifyRequest): string | undefined {
  return asText(readQuery(request, "return"));
}

async function redirecting(
  { log }: ConsoleDeps,
  reply: FastifyReply,
  find: () => Promise<Redirect | undefined>,
): Promise<FastifyReply> {
  try {
    const next = await find();
    return next === undefined ? sendPlainPage(reply, 410, SPENT_LINK) : follow(reply, next);
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

/** The identity provider calls this route. Its signed token is proof, so no origin is checked. */
function backChannelLogout(scope: FastifyInstance, { identity }: ConsoleDeps): void {
  scope.post("/auth/backchannel-logout", async (request, reply) => {
    const token = readField(request, "logout_token");
    const isDone = token !== "" && (await identity.backChannelLogout(token));
    return isDone ? reply.code(200).send() : sendRefusal(reply, NO_PROOF);
  });
}

const NO_PROOF = invalidField(
  "logout_token",
  "logout_token is not valid; send a signed logout token of the identity provider",
);

/**
 * Routes for a sign-in link that was printed on this machine. Opening the link does not use it up,
 * since mail scanners and previews open links too; the button on its page does, from our origin
 * only, so that no other site can sign a browser in.
 */
function linkRoutes(scope: FastifyInstance, deps: ConsoleDeps): void {
  const { identity, consoleUrl } = deps;
  const answer = boundLinks(deps, SPENT_LINK);
  const find = (token: string) => () => identity.findLink(token);
  scope.get("/auth/link", async (request, reply) => {
    const { host } = request.headers;
    const there = otherName({ host, url: request.url, consoleUrl: consoleUrl() });
    if (there !== undefined) return follow(reply, { location: there, cookies: [] });
    const token = textOf(readQuery(request, "t"));
    return await answer(reply, find(token), ({ email }) =>
      sendPlainPage(reply, 200, linkPage({ token, email })),
    );
  });
  scope.post("/auth/link", async (request, reply) => {
    if (!isFromOwnPage(request.headers, consoleUrl())) {
      return sendPlainPage(reply, 403, FOREIGN_LINK);
    }
    const token = readField(request, "t");
    return await answer(reply, find(token), async (link) => {
      const typed = readField(request, "email");
      const email = link.email ?? typed;
      if (!isEmail(email.trim())) {
        return sendPlainPage(reply, 422, linkPage({ token, email: null, refused: typed }));
      }
      const { cookie: cookieHeader, "user-agent": userAgent } = request.headers;
      const browser = { cookieHeader, userAgent, ...readOrigin(deps, request) };
      return await redirecting(deps, reply, () =>
        identity.signInByLink({ ...browser, token, email }),
      );
    });
  });
}

function readField({ body }: FastifyRequest, name: string): string {
  return (body instanceof URLSearchParams ? body.get(name) : null) ?? "";
}

const EMAIL_CHARS_MAX = 320;
const OWNER_EMAIL = "owner@localhost.localdomain";

function linkPage(link: {
  readonly token: string;
  /** Null if the person who opens the link enters the address. */
  readonly email: string | null;
  /** The text that the person entered, if it is not a valid e-mail address. */
  readonly refused?: string;
}): PlainPage {
  const { token, email, refused } = link;
  const shown = escapeHtml((refused ?? OWNER_EMAIL).slice(0, EMAIL_CHARS_MAX));
  const field =
    email === null
      ? `<label for="email">Email of the owner</label>
  <input id="email" name="email" type="email" required maxlength="${EMAIL_CHARS_MAX}" autocomplete="email"
    ${refused === undefined ? "" : 'aria-invalid="true" '}aria-describedby="hint" value="${shown}">
  <p id="hint" class="small">${refused === undefined ? "" : "<strong>This is not a valid email address.</strong> "}It names your account on this machine. Nothing is sent to it.</p>`
      : `<p>Sign in as <strong>${escapeHtml(email)}</strong>.</p>`;
  return page(
    "Sign in on this machine",
    `<p>This link was created on the machine running Token Market. It works once and keeps this browser
  signed in for seven days.</p>
<form method="post" action="/auth/link">
  <input type="hidden" name="t" value="${escapeHtml(token)}">
  ${field}
  <button type="submit">Sign in</button>
</form>`,
  );
}

const SPENT_LINK = page(
  "This link no longer works",
  `<p>A link works once and for 15 minutes. If you used it in this browser,
  <a href="/">open the console</a>. Otherwise, print a new one on the machine running Token Market, in
  its folder:</p>
${PRINT_LINK}`,
);

const FOREIGN_LINK = page(
  "You are not signed in",
  "<p>This sign-in did not begin on a page of this console. Open the link again in this browser, and sign in there.</p>",
);

function page(title: string, body: string): PlainPage {
  return plainPage({
    title,
    homeUrl: "/",
    body: `<div class="card">\n<h1>${title}</h1>\n${body}\n</div>`,
  });
}
