import { recall, remember } from "../../ui/browser-memory.ts";

const KEPT_AS = "tm-invitation";

/**
 * Moves the token of an invitation link from the URL's fragment, which browsers never send to a
 * server, into this tab's storage. There, it survives the redirect to the identity provider and
 * back.
 */
export function takeInvitation(): string | undefined {
  const { hash, pathname } = globalThis.location;
  const token = hash.slice(1);
  if (!/^[\w-]{43}$/.test(token)) {
    const kept = recall("sessionStorage", KEPT_AS);
    return typeof kept === "string" ? kept : undefined;
  }
  remember("sessionStorage", KEPT_AS, token);
  globalThis.history.replaceState(globalThis.history.state, "", pathname);
  return token;
}

export function forgetInvitation(): void {
  remember("sessionStorage", KEPT_AS, undefined);
}
