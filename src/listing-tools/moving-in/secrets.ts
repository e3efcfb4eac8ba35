import { redactor } from "../../kernel/index.ts";
import type { MoveNote } from "./fates.ts";
import type { Setting } from "./setting-tree.ts";
import { variableOf } from "./variables.ts";

/** Keys whose values are secrets by their names. */
const SECRET_NAME =
  /(api_?key|_key|secret|token|password|passwd|pwd|credentials?|database_url|redis_url|dsn|webhook_url|authorization|cookie)$/i;

/** What keys of providers look like, wherever they are written. */
const SECRET_FORM =
  /(?:\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|nvapi|r8|pplx|fw|csk)[-_][\w-]{12,}|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{20,}|:\/\/[^/\s:@]*:[^/\s@]+@)/;

const SECRET_CHARS_MIN = 8;

/** The secrets that files hold, as far as a name or a form shows one. */
export function secretsOf(trees: readonly Setting[]): string[] {
  const found = new Set<string>();
  const waiting = trees.map((setting) => ({ setting, isSecret: false }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { setting, isSecret } = next;
    if (setting.kind === "map") {
      for (const [key, member] of setting.entries) {
        if (looksSecret(key)) found.add(key);
        waiting.push({ setting: member, isSecret: isSecret || SECRET_NAME.test(key) });
      }
    } else if (setting.kind === "list") {
      for (const member of setting.items) waiting.push({ setting: member, isSecret });
    } else if (setting.kind === "text" && isHeld(setting.text, isSecret)) {
      found.add(setting.text);
    }
  }
  // The longest first: one secret may be part of another.
  return [...found].toSorted((a, b) => b.length - a.length);
}

function isHeld(text: string, isSecret: boolean): boolean {
  if (text.length < SECRET_CHARS_MIN || variableOf(text) !== undefined) return false;
  return isSecret || looksSecret(text);
}

/** Does this text hold something in the form of a key? */
export function looksSecret(text: string): boolean {
  return SECRET_FORM.test(text);
}

/** Notes without the secrets of the files, whatever of them got into a name. */
export function withoutSecrets(notes: readonly MoveNote[], secrets: readonly string[]): MoveNote[] {
  const redacted = redactor(secrets);
  const safe = (text: string): string => redacted(text).replaceAll(SECRET_FORMS, "[redacted]");
  return notes.map((note) => ({
    ...note,
    path: safe(note.path),
    what: safe(note.what),
    why: safe(note.why),
    next: safe(note.next),
  }));
}

const SECRET_FORMS = new RegExp(SECRET_FORM.source, "g");
