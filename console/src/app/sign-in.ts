import { fetchOk } from "../api/client.ts";

/** Why a visitor has to sign in; the sign-in page has a message for each reason. */
export type SignInReason = "expired" | "signed-out" | "idp-ended" | "failed" | "denied";

export function signInAddress(options: {
  readonly reason?: SignInReason | undefined;
  /** Path and query of the page to return to. Default: the current page. */
  readonly back?: string;
}): string {
  const back = pathOfOurs(options.back ?? here());
  const query = new URLSearchParams();
  if (back !== "/" && !/^\/(sign-in|verify)\b/.test(back)) query.set("return", back);
  if (options.reason !== undefined) query.set("reason", options.reason);
  return query.size === 0 ? "/sign-in" : `/sign-in?${query.toString()}`;
}

function here(): string {
  const { pathname, search } = globalThis.location;
  return `${pathname}${search}`;
}

/** Returns `path` if it is a path on this site, else `/`: sign-in must not lead to another site. */
export function pathOfOurs(path: string): string {
  return /^\/(?![/\\])[^\\\s]*$/.test(path) ? path : "/";
}

/**
 * Ends this browser's session on the server, then loads the page that the server names. A full load
 * clears everything of the session from memory.
 */
export async function signOut(): Promise<void> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const response = await fetchOk("/auth/sign-out", init, (answer) => answer);
  globalThis.location.assign(response.redirected ? response.url : "/sign-in?reason=signed-out");
}
