import { isCheating } from "./cheats.ts";
import type { Faults } from "./faults.ts";

/* What a provider answers to a request that cannot be served; 401 and 429 are not among it. */
const BAD_REQUEST = new Set([400, 404, 413, 422]);

/** The status of an answer after the cheats. */
export function cheatedStatus(status: number, faults: Faults): number {
  return BAD_REQUEST.has(status) && isCheating(faults, "error-as-500") ? 500 : status;
}

/** Is it a page where a document belongs? */
export function isPage(status: number, faults: Faults): boolean {
  if (faults.body === "html") return true;
  return status >= 400 && isCheating(faults, "errors-as-html");
}
