import { type Deployment, describeModel, type ListedModel } from "../../catalog/index.ts";
import { type Config, escapeHtml, plainPage, type PlainPage } from "../../kernel/index.ts";
import { perMillion } from "./present-request.ts";

/** The command that prints a sign-in link, when it is run in a folder of the sources. */
export const PRINT_LINK = "<pre><code>npm run tokenmarket -- console-link</code></pre>";

export interface Landing extends Pick<Config, "support" | "privacyUrl" | "termsUrl"> {
  readonly signInName: string | null;
  readonly isLocal: boolean;
  /** The console's path to open after signing in; undefined for the start page. */
  readonly back: string | undefined;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
  readonly gatewayUrl: string;
  /** Models for sale, newest first. */
  readonly models: readonly ListedModel[];
}

/** The first page without a session. Only copying the sample request needs scripts. */
export function landingPage(landing: Landing): PlainPage {
  return plainPage({
    title: "Sign in",
    homeUrl: "/",
    isWide: true,
    navigation:
      '<a href="/models">Models and prices</a><a href="/providers">Providers</a><a href="/docs">Docs</a>',
    script: COPY,
    body: `${renderProduct(landing.models)}
<section class="card${landing.reason === undefined ? "" : " first"}" aria-labelledby="sign-in">
<h2 id="sign-in">Sign in</h2>
${renderReason(landing)}${renderSignIn(landing)}
</section>
${renderSample(landing)}
${renderList(landing.models)}
${PICTURE}`,
    footer: renderFooter(landing),
  });
}

function renderProduct(models: readonly ListedModel[]): string {
  return `<section>
<h1>One key and one balance for the AI models of many providers</h1>
<p>Token Market is a prepaid gateway: point your client at it, choose a model, and pay only for the
tokens you use.</p>
${renderFigures(models)}
<ul>
<li><strong>Keep your client.</strong> Change the base URL and the key; the SDKs you use keep working.</li>
<li><strong>Spending is capped.</strong> You add credit first, set caps, and see the exact cost of
every request.</li>
<li><strong>Failover is built in.</strong> If one provider cannot serve a request, the next one does.</li>
</ul>
<p>New here? Read the <a href="/docs/quick-start">quick start</a>.</p>
</section>`;
}

function renderFigures(models: readonly ListedModel[]): string {
  if (models.length === 0) return "";
  const providers = new Set(
    models.flatMap(({ deployments }) => deployments.map(({ providerId }) => providerId)),
  ).size;
  const [lowest] = models
    .flatMap(({ deployments }) => deployments.map((each) => findPrices(each)?.prompt ?? 0n))
    .filter((each) => each > 0n)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const figures = [
    [String(models.length), models.length === 1 ? "model" : "models"],
    [String(providers), providers === 1 ? "provider" : "providers"],
    ...(lowest === undefined
      ? []
      : [[formatPrice(lowest), "lowest price of a million input tokens"]]),
  ];
  return `<ul class="figures">
${figures.map(([figure, name]) => `<li><strong>${figure}</strong> ${name}</li>`).join("\n")}
</ul>`;
}

/** Undefined if the deployment does not bill by the token. */
function findPrices(of: Deployment | undefined): Deployment["prices"] | undefined {
  return of?.billing === "token" ? of.prices : undefined;
}

/** Formats dollars with at least two decimals: `$0.15`, `$3.00`, `$0.0375`. */
function formatPrice(price: bigint): string {
  const [whole = "0", fraction = ""] = perMillion(price).split(".");
  return `$${whole}.${fraction.padEnd(2, "0")}`;
}

const LISTED = 8;

function renderList(models: readonly ListedModel[]): string {
  // The prices of the provider that is tried first.
  const rows = models
    .filter(({ deployments: [first] }) => (findPrices(first)?.completion ?? 0n) > 0n)
    .slice(0, LISTED)
    .map((model) => {
      const prices = findPrices(model.deployments[0]);
      const context = model.contextLength?.toLocaleString("en-US") ?? "–";
      const price = (each: bigint | undefined): string =>
        each === undefined ? "–" : formatPrice(each);
      return `<tr><td><a href="/models/${escapeHtml(model.id)}">${escapeHtml(model.displayName)}</a>
<span>${escapeHtml(describeModel(model))}</span></td><td>${context}</td><td>${price(prices?.prompt)}</td><td>${price(prices?.completion)}</td></tr>`;
    });
  if (rows.length === 0) return "";
  return `<section class="card whole" aria-labelledby="newest">
<h2 id="newest">Newest models</h2>
<table class="models">
<thead><tr><th scope="col">Model</th><th scope="col">Context</th><th scope="col">Input / M</th><th scope="col">Output / M</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
<p><a href="/models">All ${models.length} models with their prices and providers</a></p>
</section>`;
}

function renderSample({ gatewayUrl, models }: Landing): string {
  const model = models.find((each) => each.modality === "text");
  if (model === undefined) return "";
  const body = JSON.stringify({ model: model.id, messages: [{ role: "user", content: "Hello" }] });
  const code = `curl ${gatewayUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $TOKEN_MARKET_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
  return `<section class="whole" aria-labelledby="sample">
<h2 id="sample">Your first call</h2>
<div class="sample"><pre tabindex="0"><code>${escapeHtml(code)}</code></pre>
<button type="button" class="other" hidden>Copy</button></div>
</section>`;
}

const COPY = `
const button = document.querySelector(".sample button");
if (button !== null && navigator.clipboard !== undefined) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(".sample code").textContent);
    button.textContent = "Copied";
  });
}
`;

const PICTURE = `<picture class="whole">
<source srcset="/overview-dark.webp" media="(prefers-color-scheme: dark)">
<img class="shot" src="/overview-light.webp" width="1280" height="800" loading="lazy"
alt="The console's overview: balance, spend of the month, requests, and a chart of spend by model for 30 days">
</picture>`;

function renderSignIn({ signInName, isLocal, back }: Landing): string {
  if (isLocal) return SIGN_IN_BY_LINK;
  if (signInName === null) {
    return `<p>Sign-in is not set up yet. To set it up, the operator configures an identity provider
with <code>oidc.issuer</code>.</p>`;
  }
  const start =
    back === undefined ? "/auth/start" : `/auth/start?return=${encodeURIComponent(back)}`;
  return `<p><a class="button" href="${escapeHtml(start)}">Continue with ${escapeHtml(signInName)}</a></p>
<p class="small">Your first sign-in creates your account. Token Market never sees your password.</p>`;
}

const SIGN_IN_BY_LINK = `<p>No identity provider is set up yet, so you sign in with a link. On the machine running Token
Market, in its folder, print one and open it in this browser:</p>
${PRINT_LINK}
<p class="small">If Token Market is installed as a program, run <code>tokenmarket console-link</code>
instead. <code>npm start</code> prints a link too.</p>`;

function renderReason({ reason, requestId = "" }: Landing): string {
  const words = reason === undefined ? undefined : REASONS.get(reason);
  if (words === undefined) return "";
  const isBad = reason === "failed" || reason === "denied";
  const id = isBad && REQUEST_ID.test(requestId) ? `<br>Request ID: <code>${requestId}</code>` : "";
  const attributes = isBad ? 'class="note bad" role="alert"' : 'class="note" role="status"';
  return `<p ${attributes}>${words}${id}</p>\n`;
}

/** Only these reasons are shown, so that a crafted address cannot put its own text on this page. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["expired", "Your session expired. Sign in again to continue."],
  ["signed-out", "You are signed out."],
  [
    "idp-ended",
    "Your identity provider ended your session, or did not confirm it in time. Sign in again to continue.",
  ],
  ["failed", "Sign-in failed. Try again. If it keeps failing, contact support."],
  ["denied", "Your identity provider denied the sign-in. Try again, or use another account."],
]);

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function renderFooter({ support, privacyUrl, termsUrl }: Landing): string {
  const links = [renderLink("Terms", termsUrl), renderLink("Privacy policy", privacyUrl)];
  return [...links, renderSupport(support)].filter((each) => each !== "").join("\n");
}

function renderLink(label: string, url: string): string {
  return /^https?:\/\//.test(url) ? `<a href="${escapeHtml(url)}">${label}</a>` : "";
}

/** `support` is a link, an e-mail address, or a text of the operator. */
function renderSupport(support: string): string {
  if (support === "") return "";
  if (/^https?:\/\//.test(support)) return renderLink("Support", support);
  const shown = escapeHtml(support);
  const isEmail = /^[^\s@/]+@[^\s@/]+$/.test(support);
  return `<span>Support: ${isEmail ? `<a href="mailto:${shown}">${shown}</a>` : shown}</span>`;
}
