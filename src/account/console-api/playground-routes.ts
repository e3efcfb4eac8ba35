import type { FastifyInstance } from "fastify";

import { BODY_BYTES_MAX, assert, type OrgId } from "../../kernel/index.ts";
import { sendRefusal } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { readOpenSession, foreignOriginProblem } from "./guard-request.ts";
import { type Principal, toPrincipal } from "../../gateway/index.ts";

const PREFIX = "/playground";
/** The right that the playground requires, since it spends the organization's credit. */
export const PLAYGROUND_NEED = "keys";

/** Serves the gateway's routes with a session, billed to a key that the browser never gets. */
export function playgroundRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  app.removeAllContentTypeParsers();
  // The body stays unread here: the gateway reads it, within its own limits.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null, undefined));
  app.route({
    method: ["GET", "POST"],
    url: `${PREFIX}/v1/*`,
    exposeHeadRoute: false,
    bodyLimit: BODY_BYTES_MAX,
    handler: async (request, reply) => {
      const foreign = foreignOriginProblem(request, deps.consoleUrl());
      if (foreign !== undefined) return sendRefusal(reply, foreign);
      const session = await readOpenSession(deps.identity, request.headers, PLAYGROUND_NEED);
      if (session instanceof ConsoleRefusal) return sendRefusal(reply, session);
      const principal = await playgroundPrincipal(deps, session.orgId);
      reply.hijack();
      const url = (request.raw.url ?? "").slice(PREFIX.length);
      deps.playground(request.raw, reply.raw, { principal, url });
      return undefined;
    },
  });
}

/** The principal of playground calls: the organization's Playground key, made at the first call. */
export async function playgroundPrincipal(
  deps: Pick<ConsoleDeps, "accounts" | "rules">,
  orgId: OrgId,
): Promise<Principal> {
  const record = await deps.rules.findKey(await deps.accounts.playgroundKey(orgId));
  assert(record?.orgId === orgId, "the Playground key is the organization's own");
  return toPrincipal(record);
}
