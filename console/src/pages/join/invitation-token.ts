const KEPT_AS = "tm-invitation";

/**
 * Moves the token of an invitation's link from the fragment of the address, which no server sees,
 * into this tab's storage. It survives the redirect to the identity provider and back.
 */
export function takeInvitation(): string | undefined {
  const { hash, pathname } = globalThis.location;
  const token = hash.slice(1);
  if (/^[\w-]{43}$/.test(token)) {
    globalThis.sessionStorage.setItem(KEPT_AS, token);
    globalThis.history.replaceState(globalThis.history.state, "", pathname);
  }
  return globalThis.sessionStorage.getItem(KEPT_AS) ?? undefined;
}

/** It was used, or it opens nothing any more. */
export function forgetInvitation(): void {
  globalThis.sessionStorage.removeItem(KEPT_AS);
}
