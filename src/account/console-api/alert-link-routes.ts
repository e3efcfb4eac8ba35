import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { escapeHtml, plainPage, type PlainPage, textOf } from "../../kernel/index.ts";
import type { AlertLink, LinkedAddress } from "../alerts/alert-store.ts";
import { hashToken, isToken } from "../identity/browser-token.ts";
import { sendPlainPage } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/**
 * The links in e-mails of alerts. Whoever has one reads that mailbox, and needs no session. To open
 * it changes nothing, since mail scanners open links too: its page has a button. No origin is
 * checked, as mail programs press that button by themselves and the token is the proof.
 */
export function alertLinkRoutes(app: FastifyInstance, { alerts: { store } }: ConsoleDeps): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, _body, done) => done(null));
  const find: Find = (link, hash) => store.findLink(link, hash);
  const use: Find = (link, hash) => store.useLink(link, hash);
  app.get("/alerts/confirm", async (request, reply) =>
    answer({ request, reply, link: "confirm", find, show: askPage }),
  );
  app.post("/alerts/confirm", async (request, reply) =>
    answer({ request, reply, link: "confirm", find: use, show: donePage }),
  );
  app.get("/alerts/stop", async (request, reply) =>
    answer({ request, reply, link: "stop", find, show: askPage }),
  );
  app.post("/alerts/stop", async (request, reply) =>
    answer({ request, reply, link: "stop", find: use, show: donePage }),
  );
}

type Find = (link: AlertLink, hash: Buffer) => Promise<LinkedAddress | undefined>;

async function answer(of: {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly link: AlertLink;
  readonly find: Find;
  readonly show: (link: AlertLink, of: LinkedAddress, token: string) => PlainPage;
}): Promise<FastifyReply> {
  const { request, reply, link, find, show } = of;
  const token = textOf((request.query as Readonly<Record<string, unknown>>)["t"]);
  const found = isToken(token) ? await find(link, hashToken(token)) : undefined;
  return found === undefined
    ? sendPlainPage(reply, 410, SPENT)
    : sendPlainPage(reply, 200, show(link, found, token));
}

const WORDS = {
  confirm: { title: "Get alerts", button: "Get these alerts", done: "Alerts begin" },
  stop: { title: "Stop alerts", button: "Stop all alerts to this address", done: "Alerts stopped" },
} as const;

function askPage(link: AlertLink, { address, orgName }: LinkedAddress, token: string): PlainPage {
  const { title, button } = WORDS[link];
  return page(
    title,
    `<p>Alerts of the organization <strong>${escapeHtml(orgName)}</strong> to
  <strong>${escapeHtml(address)}</strong>.</p>
<form method="post" action="/alerts/${link}?t=${token}"><button type="submit">${button}</button></form>`,
  );
}

function donePage(link: AlertLink, { address, orgName }: LinkedAddress): PlainPage {
  const [who, where] = [escapeHtml(orgName), escapeHtml(address)];
  return page(
    WORDS[link].done,
    link === "confirm"
      ? `<p>Alerts of ${who} go to ${where} from now on. Each has a link that stops them.</p>`
      : `<p>No alert of ${who} goes to ${where} any more. To get them again, ask a member to remove the
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
