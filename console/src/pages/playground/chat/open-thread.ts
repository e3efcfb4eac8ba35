/** Which conversation this tab of the browser shows, so that a reload shows it again. */
export const OpenThread = {
  recall(orgId: string): string | undefined {
    try {
      return sessionStorage.getItem(toStorageName(orgId)) ?? undefined;
    } catch {
      return undefined;
    }
  },

  /** Undefined: none. */
  remember(orgId: string, conversationId: string | undefined): void {
    try {
      if (conversationId === undefined) sessionStorage.removeItem(toStorageName(orgId));
      else sessionStorage.setItem(toStorageName(orgId), conversationId);
    } catch {
      // A browser that keeps nothing has nothing to show again.
    }
  },
};

function toStorageName(orgId: string): string {
  return `tm-playground-open:${orgId}`;
}
