import type { Session } from "../../../src/account/console-api/contract.ts";
import { useSession } from "./use-session.ts";

export type Need = Session["may"][number];

/**
 * True if the role may do this in the organization. It only decides what a page offers; the server
 * checks again.
 */
export function useMay(need: Need): boolean {
  return useSession().may.includes(need);
}
