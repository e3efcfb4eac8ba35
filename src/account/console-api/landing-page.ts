import { escapeHtml, plainPage, type PlainPage } from "../../kernel/index.ts";
import { PRINT_LINK } from "./link-pages.ts";

/** The facts that the landing page shows of this installation and of the visitor. */
export interface Landing {
  /** Null: no identity provider is configured. */
  readonly signInName: string | null;
  /** Links of this machine sign in. */
  readonly isLocal: boolean;
  /** Where signing in leads back to: a path of ours; undefined: the first page. */
  readonly back: string | undefined;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
  /** Empty: the operator has set none. */
  readonly support: string;
  readonly privacyUrl: string;
  readonly termsUrl: string;
}

/**
 * The page that a visitor without a session sees first: the product, and the way in. It needs no
 * script.
 */
export function landingPage(landing: Landing): PlainPage {
  return plainPage({
    title: "Sign in",
    homeUrl: "/",
    isWide: true,
    navigation:
      '<a href="/models">Models and prices</a><a href="/providers">Providers</a><a href="/docs">Docs</a>',
    body: `${PRODUCT}
<section class="card${landing.reason === undefined ? "" : " first"}" aria-labelledby="sign-in">
<h2 id="sign-in">Sign in</h2>
${reasonOf(landing)}${wayIn(landing)}
</section>`,
    footer: footerOf(landing),
  });
}

const PRODUCT = `<section>
<h1>One key and one balance for the AI models of many providers</h1>
<p>Token Market is a prepaid gateway: point your client at it, choose a model, and pay only for the
tokens you use.</p>
<ul>
<li><strong>Keep your client.</strong> Change the base URL and the key; the SDKs you use keep working.</li>
<li><strong>Prices are public.</strong> <a href="/models">Compare models, providers, and prices</a>
without signing in.</li>
<li><strong>Spending is capped.</strong> You add credit first, set monthly caps, and see the exact cost of
every request.</li>
<li><strong>Failover is built in.</strong> If one provider cannot serve a request, the next one does.</li>
</ul>
<p>New here? Read the <a href="/docs/quick-start">quick start</a>.</p>
</section>`;

function wayIn({ signInName, isLocal, back }: Landing): string {
  if (isLocal) return LINK_WAY;
  if (signInName === null) {
    return `<p>Sign-in is not set up yet. To set it up, the operator configures an identity provider
with <code>oidc.issuer</code>.</p>`;
  }
  const start =
    back === undefined ? "/auth/start" : `/auth/start?return=${encodeURIComponent(back)}`;
  return `<p><a class="button" href="${escapeHtml(start)}">Continue with ${escapeHtml(signInName)}</a></p>
<p class="small">Your first sign-in creates your account. Token Market never sees your password.</p>`;
}

const LINK_WAY = `<p>No identity provider is set up yet, so you sign in with a link. On the machine running Token
Market, in its folder, print one and open it in this browser:</p>
${PRINT_LINK}
<p class="small">If Token Market is installed as a program, run <code>tokenmarket console-link</code>
instead. <code>npm start</code> prints a link too.</p>`;

function reasonOf({ reason, requestId = "" }: Landing): string {
  const words = reason === undefined ? undefined : REASONS.get(reason);
  if (words === undefined) return "";
  const isBad = reason === "failed" || reason === "denied";
  const id = isBad && REQUEST_ID.test(requestId) ? `<br>Request ID: <code>${requestId}</code>` : "";
  const mood = isBad ? 'class="note bad" role="alert"' : 'class="note" role="status"';
  return `<p ${mood}>${words}${id}</p>\n`;
}

/** Only reasons of this list are shown: an address cannot put its own text on this page. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["expired", "Your session expired. Sign in again to continue."],
  ["signed-out", "You are signed out. Other browsers stay signed in."],
  ["idp-ended", "Your identity provider ended your session. Sign in again to continue."],
  ["failed", "Sign-in failed. Try again. If it keeps failing, contact support."],
  ["denied", "Your identity provider denied the sign-in. Try again, or use another account."],
]);

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function footerOf({ support, privacyUrl, termsUrl }: Landing): string {
  const links = [link("Terms", termsUrl), link("Privacy policy", privacyUrl)];
  return [...links, supportOf(support)].filter((each) => each !== "").join("\n");
}

function link(label: string, url: string): string {
  return /^https?:\/\//.test(url) ? `<a href="${escapeHtml(url)}">${label}</a>` : "";
}

/** A link, an email address, or a text of the operator. */
function supportOf(support: string): string {
  if (support === "") return "";
  if (/^https?:\/\//.test(support)) return link("Support", support);
  const shown = escapeHtml(support);
  const isEmail = /^[^\s@/]+@[^\s@/]+$/.test(support);
  return `<span>Support: ${isEmail ? `<a href="mailto:${shown}">${shown}</a>` : shown}</span>`;
}
