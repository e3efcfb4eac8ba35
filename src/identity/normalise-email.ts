import { plainText } from "./plain-text.ts";

const EMAIL_CHARS_MAX = 320;

/**
 * The form that two spellings of one address share: trimmed, and A to Z in lower case. Everything
 * else is kept, since what it means is each mail host's own matter: joined by Unicode's rules, the
 * owner of one mailbox would sign in as the owner of another.
 */
export function normaliseEmail(email: string): string {
  return email.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Can this be an e-mail address at all? Whether it is, the identity provider has to know. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_CHARS_MAX && /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(text);
}

/** What an organization is called before its people say otherwise. */
export function orgNameOf(name: string | null, email: string): string {
  const local = email.slice(0, email.lastIndexOf("@"));
  const named = plainText(name ?? undefined, ORG_NAME_CHARS_MAX);
  return named ?? plainText(local, ORG_NAME_CHARS_MAX) ?? email;
}

const ORG_NAME_CHARS_MAX = 64;
