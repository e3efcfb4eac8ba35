import type { Key } from "../../api/contract.ts";

export type KeyStatus = "active" | "expired" | "disabled" | "all";

type StatusFacts = Pick<Key, "disabled_at" | "is_expired">;

/** Keys of the wanted status and tag whose name contains, or whose label begins with, the text. */
export function matchKeys(
  keys: readonly Key[],
  wanted: { readonly status: KeyStatus; readonly search: string; readonly tag?: string },
): readonly Key[] {
  const search = toSearchTerm(wanted.search).toLowerCase();
  return keys.filter(
    (key) =>
      (wanted.status === "all" || wanted.status === toKeyStatus(key)) &&
      (wanted.tag === undefined || key.tags.includes(wanted.tag)) &&
      (key.name.toLowerCase().includes(search) || key.label.startsWith(search)),
  );
}

export function toKeyStatus(key: StatusFacts): Exclude<KeyStatus, "all"> {
  if (key.disabled_at !== null) return "disabled";
  return key.is_expired ? "expired" : "active";
}

/** The active key that already has this name, regardless of case. */
export function findNamesake(name: string, keys: readonly Key[]): Key | undefined {
  const wanted = name.trim().toLowerCase();
  return keys.find((key) => toKeyStatus(key) === "active" && key.name.toLowerCase() === wanted);
}

/**
 * Shortens a pasted key to its label. People paste all of a key, often with the line around it, but
 * the secret must not reach the address bar, the history or a server.
 */
export function toSearchTerm(text: string): string {
  const key = /tm_vk_[0-9a-f]*/i.exec(text)?.[0];
  if (key !== undefined) return key.toLowerCase().slice(0, LABEL_CHARS);
  const hex = /[0-9a-f]{24,}/i.exec(text)?.[0];
  if (hex !== undefined) return `tm_vk_${hex.toLowerCase()}`.slice(0, LABEL_CHARS);
  return text.slice(0, SEARCH_CHARS_MAX);
}

/** Number of characters at the start of a key that are stored in the clear. */
const LABEL_CHARS = 12;
const SEARCH_CHARS_MAX = 64;
