import { escapeHtml, plainPage, type PlainPage } from "../../plain-page/index.ts";

/** Asks whose browser this is, or says it, where the link was made for one address. */
export function claimPage(claim: {
  readonly token: string;
  readonly email: string | null;
  readonly suggested: string;
  /** What was typed before and is not an address. */
  readonly refused?: string;
}): PlainPage {
  const { token, email, suggested, refused } = claim;
  const field =
    email === null
      ? `<label for="email">Email of the owner</label>
  <input id="email" name="email" type="email" required maxlength="320" autocomplete="email"
    ${refused === undefined ? "" : 'aria-invalid="true" '}aria-describedby="hint" value="${escapeHtml(refused ?? suggested)}">
  <p id="hint" class="small">${refused === undefined ? "" : "<strong>This is not a valid email address.</strong> "}It names your account on this machine. Nothing is sent to it.</p>`
      : `<p>Sign in as <strong>${escapeHtml(email)}</strong>.</p>
  <input type="hidden" name="email" value="${escapeHtml(email)}">`;
  return page(
    "Sign in on this machine",
    `<p>This link was created on the machine running Token Market. It works once and keeps this browser
  signed in for seven days.</p>
<form method="post" action="/local-idp/claim">
  <input type="hidden" name="t" value="${escapeHtml(token)}">
  ${field}
  <button type="submit">Sign in</button>
</form>`,
  );
}

/** A browser that was not claimed: how to get a link. */
export function unclaimedPage(): PlainPage {
  return page(
    "This browser is not signed in",
    `<p>No identity provider is set up yet, so you sign in with a link. On the machine running Token
  Market, in its folder, print one and open it in this browser:</p>
<pre><code>npm run tokenmarket -- console-link</code></pre>
<p class="small">If Token Market is installed as a program, run <code>tokenmarket console-link</code>
  instead. <code>npm start</code> prints a link too.</p>`,
  );
}

/** A link that is used, expired, or never was one. */
export function spentLinkPage(): PlainPage {
  return page(
    "This link no longer works",
    `<p>A link works once and for 15 minutes. If you used it in this browser,
  <a href="/sign-in">sign in</a>. Otherwise, print a new one on the machine running Token Market, in
  its folder:</p>
<pre><code>npm run tokenmarket -- console-link</code></pre>`,
  );
}

/** Something went wrong on the way; it shows no detail, the log does. */
export function errorPage(): PlainPage {
  return page(
    "Sign-in failed",
    '<p>This sign-in expired or was started in another browser. <a href="/sign-in">Try again</a>.</p>',
  );
}

function page(title: string, body: string): PlainPage {
  return plainPage({
    title,
    homeUrl: "/",
    body: `<div class="card">\n<h1>${title}</h1>\n${body}\n</div>`,
  });
}
