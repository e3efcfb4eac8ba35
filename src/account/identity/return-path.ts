const RETURN_PATH_CHARS_MAX = 512;
/** Any origin will do: a path of ours stays on it, anything else leaves it. */
const SOME_ORIGIN = "http://console.invalid";
const OWN_ROUNDS = /^\/(auth|sign-in|api)(\/|$)/;

/**
 * The path of ours that a browser may be sent to after signing in; undefined: it names another
 * origin, could be read as one, or would lead in a circle.
 */
export function safeReturnPath(asked: string | undefined): string | undefined {
  if (asked === undefined || asked.length > RETURN_PATH_CHARS_MAX) return undefined;
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(asked) || asked.includes("\\")) return undefined;
  if (!URL.canParse(asked, SOME_ORIGIN)) return undefined;
  const url = new URL(asked, SOME_ORIGIN);
  if (url.origin !== SOME_ORIGIN) return undefined;
  // Dots are resolved by now: `/x/..//evil` has become `//evil`.
  if (url.pathname.startsWith("//") || OWN_ROUNDS.test(url.pathname)) return undefined;
  return url.pathname + url.search + url.hash;
}
