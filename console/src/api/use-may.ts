import type { Session } from "../../../src/account/console-api/contract.ts";
import { useSession } from "./use-session.ts";

export type Need = Session["may"][number];

/** May the role in this organization do that? The server asks again: this is for what a page offers. */
export function useMay(need: Need): boolean {
  return useSession().may.includes(need);
}
