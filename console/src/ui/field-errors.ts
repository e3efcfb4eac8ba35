import { ApiFault } from "../api/client.ts";

/** The server's message about one field of a form; undefined where it meant another one. */
export function fieldError(fault: unknown, name: string): string | undefined {
  return fault instanceof ApiFault && fault.field === name ? fault.message : undefined;
}
