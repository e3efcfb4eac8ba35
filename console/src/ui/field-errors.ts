import { ApiFault } from "../api/client.ts";

/**
 * The server's message if it is about the field `name` of a form; undefined if it is about another
 * one.
 */
export function fieldError(fault: unknown, name: string): string | undefined {
  return fault instanceof ApiFault && fault.field === name ? fault.message : undefined;
}
