/** The paths of the pages; they must match the router in the browser. */
const PAGES: readonly RegExp[] = [
  /^\/$/,
  /^\/(sign-in|verify|join|for-providers|welcome|usage|limits|connections|playground)$/,
  /^\/docs(\/[a-z-]+|\/reference\/[a-z0-9_]+)?$/,
  /^\/settings(\/(organization|changes|alerts|members))?$/,
  /^\/(keys|optimize|providers)(\/[^/]+)?$/,
  /^\/billing(\/(return\/[^/]+|purchases\/[^/]+\/receipt|company|statements(\/[^/]+)?))?$/,
  /^\/requests\/[^/]+$/,
  /^\/operator(\/(health|changes|review|listings|settlement))?$/,
  /^\/operator\/organizations(\/[^/]+(\/requests\/[^/]+)?)?$/,
  // Model ids contain slashes.
  /^\/models(\/.+)?$/,
];

export function isPagePath(path: string): boolean {
  return PAGES.some((page) => page.test(path));
}

/* The pages that show nothing without a session; catalog and documentation are public. */
const PRIVATE =
  /^\/(|welcome|usage|limits|connections|playground)$|^\/(settings|keys|optimize|billing|requests|operator)(\/|$)/;

export function isPrivatePage(path: string): boolean {
  return isPagePath(path) && PRIVATE.test(path);
}

export function isOperatorPage(path: string): boolean {
  return /^\/operator(\/|$)/.test(path);
}

/** Paths of the API, the gateway and sign-in, which are never pages. */
const RESERVED = /^\/(login|v1|api|images|auth|webhooks|assets|playground\/v1)(\/|$)/i;

export function isReservedPath(path: string): boolean {
  return RESERVED.test(path) || path.startsWith("//");
}
