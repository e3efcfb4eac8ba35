/** A longer name cannot be a field of the gateway, however it is spelled. */
const NAME_CHARS_MAX = 64;

/**
 * Folds a key as a provider reads it that ignores case: letters of both cases, and compatibility
 * forms such as full width, the Kelvin sign and the long s, become one.
 */
export function foldName(name: string): string {
  if (name.length > NAME_CHARS_MAX || /^[a-z0-9_]*$/.test(name)) return name;
  // A short cut for camel case, which keys of schemas often have: ten times as fast.
  if (/^[\0-\x7f]*$/.test(name)) return name.toLowerCase();
  // Upper case in between joins letters that lower case alone leaves apart, as the dotless i.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase();
  return folded.replaceAll("\u0307", "");
}
