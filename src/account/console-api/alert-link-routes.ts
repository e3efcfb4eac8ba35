import type { FastifyInstance, FastifyReply } from "fastify";

import { clientNetwork } from "../../gateway/index.ts";
import { escapeHtml, plainPage, type PlainPage, textOf } from "../../kernel/index.ts";
import type { LinkedAddress } from "../alerts/alert-store.ts";
import { hashToken, isToken } from "../identity/browser-token.ts";
import { sendPlainPage } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { findClientAddress, readQuery } from "./guard-request.ts";
import { MinuteBound } from "./minute-bound.ts";

/**
 * Routes for the links in alert e-mails. Only readers of the mailbox have such a link, so no
 * session is needed. Opening a link changes nothing, since mail scanners open links too. Only a
 * POST does: from the button on the link's page, or from a mail program (one-click unsubscribe). A
 * mail program sends no origin, so the origin is not checked: the token is the proof.
 */
export function alertLinkRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  const answer = boundLinks(deps, SPENT);
  const use = async (
    reply: FastifyReply,
    find: (hash: Buffer) => Promise<LinkedAddress | undefined>,
    show: (of: LinkedAddress) => PlainPage,
  ): Promise<FastifyReply> => {
    const token = textOf(readQuery(reply.request, "t"));
    if (!isToken(token)) return sendPlainPage(reply, 410, SPENT);
    const look = () => find(hashToken(token));
    return await answer(reply, look, (found) => sendPlainPage(reply, 200, show(found)));
  };
  app.get("/alerts/link", async (request, reply) => {
    const asking = askPage(textOf(readQuery(request, "t")));
    return await use(reply, (hash) => deps.alerts.store.findLink(hash), asking);
  });
  app.post("/alerts/link", async (_request, reply) =>
    use(reply, (hash) => deps.alerts.store.useLink(hash), donePage),
  );
}

/** Limits look-ups per minute that find nothing, since each costs a query and needs no session. */
const LINK_MISSES_MAX = { ofNetwork: 60, ofAll: 3_000 };

/** Answers links of one kind: with `spent` those that are not found, with 429 too many of these. */
export function boundLinks(deps: ConsoleDeps, spent: PlainPage) {
  const misses = new MinuteBound(LINK_MISSES_MAX);
  return async <T>(
    reply: FastifyReply,
    find: () => Promise<T | undefined>,
    show: (found: T) => FastifyReply | Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    const network = clientNetwork(findClientAddress(deps.clientAddresses, reply.request) ?? "");
    if (!misses.mayRun(network, deps.clock.monotonicMs())) {
      return sendPlainPage(reply.header("retry-after", "60"), 429, BUSY_LINK);
    }
    const found = await find();
    if (found === undefined) return sendPlainPage(reply, 410, spent);
    misses.release(network);
    return await show(found);
  };
}

const askPage =
  (token: string) =>
  ({ link, address, orgName }: LinkedAddress): PlainPage =>
    page(
      link === "confirm" ? "Get alerts" : "Stop alerts",
      `<p>Alerts of the organization <strong>${escapeHtml(orgName)}</strong> to
  <strong>${escapeHtml(address)}</strong>.</p>
<form method="post" action="/alerts/link?t=${token}"><button type="submit">${
        link === "confirm" ? "Get these alerts" : "Stop all alerts to this address"
      }</button></form>`,
    );

function donePage({ link, address, orgName }: LinkedAddress): PlainPage {
  const [who, where] = [escapeHtml(orgName), escapeHtml(address)];
  return link === "confirm"
    ? page("Alerts begin", `<p>Alerts of ${who} go to ${where} from now on.</p>`)
    : page(
        "Alerts stopped",
        `<p>No alert of ${who} goes to ${where} any more. To get them again, ask a member to remove the
  address and add it again.</p>`,
      );
}

function page(title: string, text: string): PlainPage {
  return plainPage({ title, body: `<div class="card">\n<h1>${title}</h1>\n${text}\n</div>` });
}

const BUSY_LINK = page(
  "Too many links were opened",
  "<p>Open this link again in a minute: it has not been used.</p>",
);
const SPENT = page(
  "This link no longer works",
  `<p>It was used, it has expired, its address was removed, or a newer message has another one. Use the
  newest message, or ask a member of the organization.</p>`,
);
