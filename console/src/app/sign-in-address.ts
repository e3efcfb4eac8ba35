/** Why a visitor has to sign in; the sign-in page has a message for each reason. */
export type SignInReason = "expired" | "signed-out" | "idp-ended" | "failed" | "denied";

/** The sign-in page, with the way back to where the reader is now. */
export function signInAddress(options: {
  readonly reason?: SignInReason | undefined;
  /** A path of the console with its query; absent: the page that is shown now. */
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

/** A way back leads to a page of this console or to the first page, never elsewhere. */
export function pathOfOurs(path: string): string {
  return /^\/(?![/\\])[^\\\s]*$/.test(path) ? path : "/";
}
