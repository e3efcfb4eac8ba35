const LOCAL_CHARS_MAX = 64;
const DOMAIN_CHARS_MAX = 253;

/* Atoms of RFC 5321, separated by single dots. Quoted local parts are refused. */
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * True for an e-mail address in ASCII only, because two addresses that look equal must be equal. A
 * domain in another script must be in its `xn--` form. Does not check that the mailbox exists.
 */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (local.length > LOCAL_CHARS_MAX || domain.length > DOMAIN_CHARS_MAX) return false;
  return LOCAL.test(local) && domain.split(".").every((label) => LABEL.test(label));
}

/** Trims an address and lowers A to Z, so that its spellings compare equal. */
export function normaliseEmail(email: string): string {
  return email.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
