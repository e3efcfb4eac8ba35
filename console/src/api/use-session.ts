import type { Session } from "./contract.ts";
import { useAnswer } from "./use-answer.ts";

/** The session. Throws if it was not read, which `SessionGate` does before any page is shown. */
export function useSession(): Session {
  const session = useAnswer("GET /api/console/session").data;
  if (session === undefined) throw new Error("a page was shown before the session was read");
  return session;
}

export type Need = Session["may"][number];

/**
 * True if the role of the signed-in person permits `need`. This only decides what a page offers:
 * the server checks each change again.
 */
export function useMay(need: Need): boolean {
  return useSession().may.includes(need);
}
