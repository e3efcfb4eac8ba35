import { nodesOf, parse, placeOf, type SourceFile, type SyntaxNode } from "./source-files.ts";

/** A word that only this project uses in that sense, and what engineers of the field write. */
export interface DialectWord {
  readonly pattern: RegExp;
  readonly better: string;
  /** A sentence that has it, which the check must notice. */
  readonly planted: string;
}

/** Spaces stand for any white space, so that a phrase is found over the end of a line, too. */
const word = (pattern: string, better: string, planted: string): DialectWord => ({
  pattern: new RegExp(pattern.replaceAll(" ", "\\s+"), "gi"),
  better,
  planted,
});

export const DIALECT: readonly DialectWord[] = [
  word(
    String.raw`\blook(s|ed|ing|-out)?\b(?! (like|up)\b)`,
    "poll, query, check, read",
    "the longest look into the journal",
  ),
  word(String.raw`\b(told|tells?|telling)\b`, "reported, shown, logged", "what the provider told"),
  word(String.raw`\bhouse(s|'s)?\b`, "platform", "the house bears the cost"),
  word(String.raw`(?<!real-)\bworlds?\b`, "environment, fixture", "a world with two providers"),
  word(String.raw`\b(story|stories|scenes?)\b`, "scenario", "the story of a purchase"),
  word(
    String.raw`\b(stands|stood|standing)\b`,
    "is located, is listed, precedes",
    "the name that stands in the file",
  ),
  word(String.raw`\b(apart|aside)\b`, "separately, except", "the two are kept apart"),
  word(
    String.raw`\b(nobody|somebody|everybody|whoever)\b`,
    "no client, any user, all clients, another process",
    "nobody can sign in",
  ),
  word(String.raw`\b(is|are) there twice\b`, "is duplicated", "the name is there twice"),
  word(String.raw`\bfor ?ever\b`, "permanently", "disables the key for ever"),
  word(
    String.raw`\b(giv(e|es|en|ing)|gave|hand(s|ed|ing)?) (\S+ ){0,3}back\b`,
    "return, release",
    "the hold is given back",
  ),
  word(
    String.raw`\b(go(es|ing|ne)?|went) (along|by)\b`,
    "is included, uses, follows",
    "the message goes along",
  ),
  word(String.raw`\b(goes|went|going) on\b`, "continues", "the request goes on"),
  word(
    String.raw`(?<!\bthere )\b(is|are|was|were) no (?!(longer|more|less|later|larger|greater)\b)`,
    "is not a, is not valid",
    "the body is no JSON",
  ),
  word(String.raw`\b(hold(s|ing)?|held) (\w+ )?against\b`, "check against", "held against the cap"),
  word(
    String.raw`(?<!-)\bcross(es|ed|ing|ings)?\b(?!-| join| lateral)`,
    "is translated, translation",
    "a field that crosses to the other wire",
  ),
  word(
    String.raw`(?<!\b(my|your|its|their|our|[a-z]+s?'s?) )\bown (provider )?keys?\b`,
    "customer-provided key (BYOK)",
    "endpoints and own keys of an account",
  ),
  word(
    String.raw`\b(rests|rested|resting)\b|\b(its|a|no) rest\b`,
    "cools down, cooldown, back-off",
    "the deployment rests",
  ),
  word(
    String.raw`\b(news|hearsay|hears?|heard|deaf)\b`,
    "event, notification, received, ignored",
    "changes are not heard",
  ),
  word(String.raw`\brooms?\b`, "capacity, slot, space, folder", "there is room for one more"),
  word(
    String.raw`\b(an?|its|their|the|this|every|each|whose) turn\b`,
    "permit, slot, pacing delay",
    "a request waits for its turn",
  ),
  word(String.raw`\bnever goes back\b`, "monotonic clock", "the clock that never goes back"),
  word(String.raw`\bwords\b`, "message, wording, terms", "in the client's own words"),
];

/** An ordinary use of a word: where, the piece of the line that has it, and why it is right. */
export interface Allowance {
  readonly file: string;
  readonly text: string;
  readonly reason: string;
}

type Part = readonly [start: number, end: number];

/** The parts of a text that are read: all else is blank, so that places stay right. */
export type Reading = (source: SourceFile) => string;

/** Strings with a space and the text of pages. A string without one is a name or a value. */
export const shownText: Reading = (source) => {
  const parts = nodesOf(source).flatMap((node): Part[] => {
    if (node.type === "TemplateLiteral") return textsOf(node);
    if (node.type === "JSXText") return [[node.start, node.end]];
    const isText = node.type === "Literal" && typeof node["value"] === "string";
    // Without its quotes, so that a phrase is found over the plus sign between two strings.
    const inner: Part = [node.start + 1, node.end - 1];
    return isText && String(node["value"]).includes(" ") ? [inner] : [];
  });
  return only(source.text, parts).replaceAll("\\n", "  ");
};

/** The texts between the values of a template that has a space somewhere. */
function textsOf(template: SyntaxNode): Part[] {
  const pieces = template["quasis"] as SyntaxNode[];
  const raw = pieces.map((piece) => (piece["value"] as { raw: string }).raw);
  if (!raw.some((text) => text.includes(" "))) return [];
  return pieces.map(({ start, end }) => [start, end] as const);
}

export const comments: Reading = (source) =>
  only(
    source.text,
    parse(source).comments.map(({ start, end }): Part => [start, end]),
  ).replace(/^ *\*(?!\/)|^ *\/\/|`[^`\n]*`/gm, (piece) => " ".repeat(piece.length));

/** Markdown without code in a sentence and the addresses of links. */
export const page: Reading = ({ text }) =>
  text.replace(/`[^`\n]*`|\]\([^)\n]*\)/g, (piece) => " ".repeat(piece.length));

function only(text: string, parts: readonly Part[]): string {
  let shown = "";
  let at = 0;
  for (const [start, end] of parts.toSorted((one, other) => one[0] - other[0])) {
    if (start < at) continue;
    shown += text.slice(at, start).replace(/[^\n]/g, " ") + text.slice(start, end);
    at = end;
  }
  return shown + text.slice(at).replace(/[^\n]/g, " ");
}

/** Every dialect word of a text: file, line, the word and the better one. */
export function dialectIn(
  source: SourceFile,
  read: Reading,
  allowed: readonly Allowance[] = [],
): string[] {
  const text = read(source);
  const own = allowed.filter(({ file }) => file === source.file);
  return DIALECT.flatMap(({ pattern, better }) =>
    [...text.matchAll(pattern)]
      .filter(({ index }) => !own.some((each) => hasAt(source.text, each.text, index)))
      .map(({ index, 0: found }) => {
        const phrase = found.replace(/\s+/g, " ").trim();
        return `${placeOf(source, index)} "${phrase}": ${better}`;
      }),
  );
}

/** Whether the allowed piece of the text is around that place. */
export function hasAt(text: string, piece: string, index: number): boolean {
  const from = Math.max(0, index - piece.length);
  const at = text.slice(from, index + piece.length).indexOf(piece);
  return at !== -1 && from + at <= index && index < from + at + piece.length;
}
