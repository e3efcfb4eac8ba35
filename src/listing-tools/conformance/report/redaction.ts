import { asText, membersOf, takeStart, textOf } from "../../../kernel/index.ts";
import type { EvidenceValue, Finding } from "./finding.ts";

export const PROVIDER_TEXT_CHARS_MAX = 300;

const REMOVED = "[removed]";
/** Minimum length of a redacted secret. Redacting shorter ones would spoil ordinary sentences. */
const SECRET_CHARS_MIN = 6;
/** Any substring of a secret with this length is redacted. */
const SECRET_PIECE_CHARS = 8;
/** Prompts are cut into pieces of this length. Each is redacted wherever a text contains it. */
const PROMPT_PIECE_CHARS = 16;

export class Redaction {
  readonly #secrets: readonly string[];
  readonly #secretPieces = new Set<string>();
  readonly #promptPieces = new Set<string>();

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter(({ length }) => length >= SECRET_CHARS_MIN);
    for (const secret of this.#secrets) {
      addPieces(this.#secretPieces, secret, { length: SECRET_PIECE_CHARS, step: 1 });
    }
  }

  /** Redacts, from now on, pieces of 16 characters of every text in `value`, at any depth. */
  addPrompt(value: unknown): void {
    const text = textOf(value);
    const pieces = { length: PROMPT_PIECE_CHARS, step: PROMPT_PIECE_CHARS };
    addPieces(this.#promptPieces, text, pieces);
    addPieces(this.#promptPieces, JSON.stringify(text).slice(1, -1), pieces);
    for (const [, member] of membersOf(value) ?? []) this.addPrompt(member);
  }

  /** Redacts a text and puts it on one line, cut at `PROVIDER_TEXT_CHARS_MAX`. */
  shown(text: string): string {
    let shown = text.slice(0, 4 * PROVIDER_TEXT_CHARS_MAX);
    for (const secret of this.#secrets) shown = shown.replaceAll(secret, REMOVED);
    shown = without(shown, this.#secretPieces, SECRET_PIECE_CHARS);
    shown = without(shown, this.#promptPieces, PROMPT_PIECE_CHARS)
      .replaceAll(/\b(?:sk|pk|rk|tm_vk|key)[-_][\w-]{8,}/gi, REMOVED)
      .replaceAll(/\bbearer\s+\S+/gi, REMOVED)
      .replaceAll(/\p{C}+/gu, " ")
      .trim();
    if (shown.length <= PROVIDER_TEXT_CHARS_MAX) return shown;
    return `${takeStart(shown, PROVIDER_TEXT_CHARS_MAX - 1)}…`;
  }
}

function addPieces(
  pieces: Set<string>,
  text: string,
  { length, step }: { readonly length: number; readonly step: number },
): void {
  for (let at = 0; at + length <= text.length; at += step) pieces.add(text.slice(at, at + length));
}

function without(text: string, pieces: ReadonlySet<string>, length: number): string {
  let kept = "";
  let removedTo = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (pieces.has(text.slice(at, at + length))) {
      if (at > removedTo || removedTo === 0) kept += REMOVED;
      removedTo = at + length;
    } else if (at >= removedTo) {
      kept += text[at];
    }
  }
  return kept;
}

export function presentFinding<F extends Finding>(finding: F, redaction: Redaction): F {
  const shown = { ...finding, message: redaction.shown(finding.message) };
  if (finding.evidence === undefined) return shown;
  const entries = Object.entries(finding.evidence);
  const evidence = entries.map(([name, value]) => [name, presentValue(value, redaction)] as const);
  return { ...shown, evidence: Object.fromEntries(evidence) };
}

function presentValue(value: EvidenceValue, redaction: Redaction): EvidenceValue {
  if (Array.isArray(value))
    return value.map((each: EvidenceValue) => presentValue(each, redaction));
  const text = asText(value);
  return text === undefined ? value : redaction.shown(text);
}
