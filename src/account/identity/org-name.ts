import { plainText } from "./plain-text.ts";

/** What an organization is called before its people say otherwise. */
export function orgNameOf(name: string | null, email: string): string {
  const local = email.slice(0, email.lastIndexOf("@"));
  const named = plainText(name ?? undefined, ORG_NAME_CHARS_MAX);
  return named ?? plainText(local, ORG_NAME_CHARS_MAX) ?? email;
}

const ORG_NAME_CHARS_MAX = 64;
