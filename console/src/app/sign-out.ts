import { ApiFault } from "../api/client.ts";

/**
 * Ends this browser's session on the server, then loads the page that the server names. A full load
 * clears everything of the session from memory.
 */
export async function signOut(): Promise<void> {
  const response = await fetch("/auth/sign-out", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  if (!response.ok) {
    throw new ApiFault(response.status, (await response.json().catch(() => undefined)) as object);
  }
  globalThis.location.assign(response.redirected ? response.url : "/sign-in?reason=signed-out");
}
