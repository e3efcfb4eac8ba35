import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { escapeHtml, plainPage, type PlainPage, textOf } from "../../kernel/index.ts";
import type { LinkedAddress } from "../alerts/alert-store.ts";
import { hashToken, isToken } from "../identity/browser-token.ts";
import { sendPlainPage } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/**
 * The links in e-mails of alerts. Whoever has one reads that mailbox, and needs no session. To open
 * it changes nothing, since mail scanners open links too: its page has a button. No origin is
 * checked, as mail programs press that button by themselves and the token is the proof.
 */
export function alertLinkRoutes(app: FastifyInstance, { alerts }: ConsoleDeps): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, _body, done) => done(null));
  app.get("/alerts/link", async (request, reply) => {
    const token = readToken(request);
    return answer(reply, askPage(token), isToken(token) && alerts.store.findLink(hashToken(token)));
  });
  app.post("/alerts/link", async (request, reply) => {
    const token = readToken(request);
    return answer(reply, donePage, isToken(token) && alerts.store.useLink(hashToken(token)));
  });
}

function readToken({ query }: FastifyRequest): string {
  return textOf((query as Readonly<Record<string, unknown>>)["t"]);
}

async function answer(
  reply: FastifyReply,
  show: (of: LinkedAddress) => PlainPage,
  finding: Promise<LinkedAddress | undefined> | false,
): Promise<FastifyReply> {
  const found = (await finding) || undefined;
  return sendPlainPage(reply, found === undefined ? 410 : 200, found ? show(found) : SPENT);
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

const SPENT = page(
  "This link no longer works",
  `<p>It was used, it has expired, or a newer message has another one. Use the newest message, or ask a
  member of the organization.</p>`,
);
