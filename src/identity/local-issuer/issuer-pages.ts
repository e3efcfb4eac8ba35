import { randomBytes } from "node:crypto";

/** A whole page of the bundled issuer; it needs no script. */
export interface IssuerPage {
  readonly html: string;
  /** Its content security policy. */
  readonly policy: string;
}

/** Asks whose browser this is, or says it, where the link was made for one address. */
export function claimPage(claim: {
  readonly token: string;
  readonly email: string | null;
  readonly suggested: string;
  /** What was typed before and is not an address. */
  readonly refused?: string;
}): IssuerPage {
  const { token, email, suggested, refused } = claim;
  const field =
    email === null
      ? `<label for="email">Email of the owner</label>
  <input id="email" name="email" type="email" required maxlength="320" autocomplete="email"
    ${refused === undefined ? "" : 'aria-invalid="true" '}aria-describedby="hint" value="${escapeHtml(refused ?? suggested)}">
  <p id="hint">${refused === undefined ? "" : "<strong>This is not a valid email address.</strong> "}It names your account on this machine. Nothing is sent to it.</p>`
      : `<p>Sign in as <strong>${escapeHtml(email)}</strong>.</p>
  <input type="hidden" name="email" value="${escapeHtml(email)}">`;
  return page(
    "Sign in on this machine",
    `<p>This link was created on the machine running Token Market. It works once. This browser is
  then remembered as the owner's for seven days.</p>
<form method="post" action="/local-idp/claim">
  <input type="hidden" name="t" value="${escapeHtml(token)}">
  ${field}
  <button type="submit">Sign in</button>
</form>`,
  );
}

/** A browser that was not claimed: how to get a link. */
export function unclaimedPage(): IssuerPage {
  return page(
    "This browser is not signed in",
    `<p>No identity provider is set up yet, so you sign in with a link. Print one on the machine
  running Token Market, in its folder, and open it in this browser:</p>
<pre><code>npm run tokenmarket -- console-link</code></pre>
<p>Where it is installed as a program, run <code>tokenmarket console-link</code>. The first start of
  <code>tokenmarket dev</code> prints a link too.</p>`,
  );
}

/** A link that is used, expired, or never was one. */
export function spentLinkPage(): IssuerPage {
  return page(
    "This link no longer works",
    `<p>A link works once and for 15 minutes. If you used it in this browser,
  <a href="/sign-in">sign in</a>. Otherwise, print a new one on the machine running Token Market, in
  its folder:</p>
<pre><code>npm run tokenmarket -- console-link</code></pre>`,
  );
}

/** Something went wrong on the way; it shows no detail, the log does. */
export function errorPage(): IssuerPage {
  return page(
    "Sign-in failed",
    '<p>This sign-in expired or was started in another browser. <a href="/sign-in">Try again</a>.</p>',
  );
}

function page(title: string, body: string): IssuerPage {
  const nonce = randomBytes(16).toString("base64");
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} – Token Market</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`,
    policy:
      `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; base-uri 'none'; ` +
      "frame-ancestors 'none'",
  };
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; background: Canvas; color: CanvasText; }
main { max-width: 34rem; margin: 10vh auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
label { display: block; font-weight: 600; }
input[type=email] { box-sizing: border-box; width: 100%; font: inherit; padding: .6rem .75rem;
  border: 1px solid; border-radius: .5rem; }
button { font: inherit; font-weight: 600; padding: .6rem 1.25rem; border: 0; border-radius: .5rem;
  background: #1864ab; color: #fff; cursor: pointer; }
:focus-visible { outline: 3px solid #4dabf7; outline-offset: 2px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere;
  padding: .75rem; border: 1px solid; border-radius: .5rem; }
a { color: LinkText; }
`;

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
