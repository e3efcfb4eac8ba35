const LOCAL_CHARS_MAX = 64;
const DOMAIN_CHARS_MAX = 253;

/* The atoms of RFC 5321 between single dots: nothing quoted, nothing that a mail program would parse. */
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * True for an e-mail address in ASCII. Addresses that look equal are then equal, and the address
 * that is counted is the one that receives mail. A domain in another script has to be in its `xn--`
 * form. Whether the mailbox exists is not checked.
 */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (local.length > LOCAL_CHARS_MAX || domain.length > DOMAIN_CHARS_MAX) return false;
  return LOCAL.test(local) && domain.split(".").every((label) => LABEL.test(label));
}

/** The form that two spellings of one address share: trimmed, and A to Z in lower case. */
export function normaliseEmail(email: string): string {
  return email.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
