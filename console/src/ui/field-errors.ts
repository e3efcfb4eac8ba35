import { ApiFault } from "../api/client.ts";

/** The server's message if it is about the form's field `name`; otherwise undefined. */
export function fieldError(fault: unknown, name: string): string | undefined {
  return fault instanceof ApiFault && fault.field === name ? fault.message : undefined;
}
