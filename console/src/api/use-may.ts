import type { Session } from "../../../src/account/console-api/contract.ts";
import { useSession } from "./use-session.ts";

export type Need = Session["may"][number];

/**
 * True if the role of the signed-in person permits `need`. This only decides what a page offers:
 * the server checks each change again.
 */
export function useMay(need: Need): boolean {
  return useSession().may.includes(need);
}
