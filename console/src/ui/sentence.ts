/**
 * A message of the API as a sentence of a page: it begins with a capital letter, unless with the
 * name of a field, and ends with a full stop.
 */
export function sentence(message: string): string {
  const [first = ""] = message.split(" ", 1);
  const isName = FIELDS.has(first) || /[_.:/`-]/.test(first);
  const begun = isName ? message : message.charAt(0).toUpperCase() + message.slice(1);
  return begun === "" || /[.!?…)]$/.test(begun) ? begun : `${begun}.`;
}

const FIELDS: ReadonlySet<string> = new Set(["rpm", "tpm"]);
