import { asObject } from "../../kernel/index.ts";

/** An object whose members have not been checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** The steps of a JSON pointer. */
export type Place = readonly (string | number)[];

/** The members of an object; none of anything else. */
export function fieldsOf(value: unknown): Fields {
  return asObject(value) ?? {};
}

/** The elements of a list, as objects; none of anything else. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
