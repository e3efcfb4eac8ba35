import { createHash } from "node:crypto";

import { PLAIN_FONT, PLAIN_STYLE } from "./plain-style.ts";

export interface PlainPage {
  readonly html: string;
  /** Value of the `content-security-policy` header. */
  readonly policy: string;
}

/** Builds a page. `body`, `navigation` and `footer` are HTML; `title` and `homeUrl` are text. */
export function plainPage(content: {
  readonly title: string;
  readonly body: string;
  /** Shown next to the product name, which links to `homeUrl` if that is set. */
  readonly navigation?: string;
  readonly footer?: string;
  readonly homeUrl?: string;
  /** True for two columns, if the window is wider than 60rem. */
  readonly isWide?: boolean;
  /** The page must also work without this script, which only adds convenience. */
  readonly script?: string;
  /** Origins that a form may be sent or redirected to: `form-action` applies to redirects too. */
  readonly formTargets?: readonly string[];
}): PlainPage {
  const { title, body, navigation = "", footer = "", homeUrl, isWide = false, script } = content;
  // Only the console's own server has the font, and only its own pages have a home URL.
  const style = homeUrl === undefined ? PLAIN_STYLE : PLAIN_FONT + PLAIN_STYLE;
  const brand = `${LOGO}<span>Token Market</span>`;
  const home =
    homeUrl === undefined
      ? `<span class="brand">${brand}</span>`
      : `<a class="brand" href="${escapeHtml(homeUrl)}" aria-label="Token Market, home page">${brand}</a>`;
  const foot = footer === "" ? "" : `<footer>${footer}</footer>`;
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Token Market</title>
<link rel="icon" href="${ICON}" type="image/svg+xml">
<style>${style}</style>
</head>
<body>
<header>${home}${navigation}</header>
<main${isWide ? ' class="wide"' : ""}>
${body}
</main>
${foot}
${script === undefined ? "" : `<script>${script}</script>`}
</body>
</html>
`,
    policy: buildPolicy(content.formTargets ?? [], { style, script }),
  };
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

const DRAWING =
  '<path class="stroke" d="M7 9h18M16 9v15M7 17h4M21 17h4M7 23h4M21 23h4" stroke="#fff" ' +
  'stroke-width="3" stroke-linecap="round" fill="none"/>';
const SHAPE = `<rect class="ground" width="32" height="32" rx="7" fill="#0c6480"/>${DRAWING}`;
const LOGO = `<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">${SHAPE}</svg>`;
const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${SHAPE}</svg>`,
)}`;

function buildPolicy(
  formTargets: readonly string[],
  { style, script }: { readonly style: string; readonly script: string | undefined },
): string {
  const formAction = ["'self'", ...new Set(formTargets)].join(" ");
  const scripts = script === undefined ? "" : `script-src '${hashOf(script)}'; `;
  return (
    `default-src 'none'; style-src '${hashOf(style)}'; ${scripts}img-src 'self' data:; ` +
    "font-src 'self'; " +
    `form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`
  );
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
