import { escapeHtml, plainPage, type PlainPage } from "../../kernel/index.ts";

/** The command that prints a sign-in link, when it is run in a folder of the sources. */
export const PRINT_LINK = "<pre><code>npm run tokenmarket -- console-link</code></pre>";

const EMAIL_CHARS_MAX = 320;
const OWNER_EMAIL = "owner@localhost.localdomain";

export function linkPage(link: {
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

export function spentLinkPage(): PlainPage {
  return page(
    "This link no longer works",
    `<p>A link works once and for 15 minutes. If you used it in this browser,
  <a href="/">open the console</a>. Otherwise, print a new one on the machine running Token Market, in
  its folder:</p>
${PRINT_LINK}`,
  );
}

export function foreignLinkPage(): PlainPage {
  return page(
    "You are not signed in",
    "<p>This sign-in did not begin on a page of this console. Open the link again in this browser, and sign in there.</p>",
  );
}

function page(title: string, body: string): PlainPage {
  return plainPage({
    title,
    homeUrl: "/",
    body: `<div class="card">\n<h1>${title}</h1>\n${body}\n</div>`,
  });
}
