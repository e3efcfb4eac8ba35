/** Longer names are none of a gateway's fields, however they are spelled. */
const NAME_CHARS_MAX = 64;

/**
 * A key as a provider that does not care for case reads it: compatibility forms (full width, the
 * Kelvin sign, a long s) and cases are one. The name itself where nothing has to be folded.
 */
export function foldName(name: string): string {
  if (name.length > NAME_CHARS_MAX || /^[a-z0-9_]*$/.test(name)) return name;
  // The general way is ten times as much, and keys of schemas are often in camel case.
  if (/^[\0-\x7f]*$/.test(name)) return name.toLowerCase();
  // Upper case in between joins letters that have no lower case of their own, as the dotless i.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase();
  return folded.replaceAll("\u0307", "");
}
