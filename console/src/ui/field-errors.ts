import { ApiFault } from "../api/client.ts";

/** The server's message about this field of a form; undefined if it is about another field. */
export function fieldError(fault: unknown, name: string): string | undefined {
  return fault instanceof ApiFault && fault.field === name ? fault.message : undefined;
}
