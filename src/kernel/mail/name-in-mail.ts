const CHARS_MAX = 64;

/**
 * Sanitizes a name that people chose for use in e-mails: letters of any script, digits, blanks and
 * a few signs remain. Mail programs then find no address to link, and no character can reorder or
 * hide others.
 */
export function nameInMail(name: string): string {
  const plain = name
    .slice(0, 4 * CHARS_MAX)
    .replaceAll(/[^\p{L}\p{M}\p{N} .,&'()+_-]/gu, " ")
    // A dot at the end of a word or before a digit is in no address.
    .replaceAll(/\.(?![\s\d]|$)/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  return plain.slice(0, CHARS_MAX).replace(/[\uD800-\uDBFF]$/, "") || "unnamed";
}
