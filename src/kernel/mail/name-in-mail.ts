const CHARS_MAX = 64;

/**
 * A name that people chose, as e-mails say it: letters of any script, digits, blanks and a few
 * signs. A mail program finds no address to make a link of, and no character turns or hides others.
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
