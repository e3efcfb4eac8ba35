const LOCAL_CHARS_MAX = 64;
const DOMAIN_CHARS_MAX = 253;

/* The atoms of RFC 5321 between single dots: nothing quoted, nothing that a mail program would parse. */
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * Is it an e-mail address, each letter of which is seen? ASCII alone: two addresses that read the
 * same are the same, and the one that is counted is the one that a mail server gets. A domain in
 * another script is written in its `xn--` form. Its host alone knows if there is such a mailbox.
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
