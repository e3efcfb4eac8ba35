import {
  asObject,
  ERROR_BODY_BYTES_MAX,
  PROVIDER_MESSAGE_CHARS_MAX,
  textOf,
  tryParse,
} from "../../../kernel/index.ts";

/** Maximum characters of a message that are read, which keeps the patterns below fast. */
const READ_CHARS_MAX = 1_024;
const FALLBACK = "the prompt does not fit the context window of the model";

/** A quoted name, or an id with a digit, after a word such as `organization` or `project`. */
const ACCOUNT_NAME =
  /\b(organi[sz]ation|account|project|workspace|tenant|subscription|team)s?(?: id)?[\s:]+(?:'[^']*'|"[^"]*"|`[^`]*`|[\w-]*\d[\w-]*)/gi;
/**
 * A secret after a word that names it. After a word for a password and `:` or `=`, any value
 * matches. Otherwise, only a value with a digit that is not a plain number matches.
 */
const NAMED_SECRET =
  /\b(pass(?:word|wd|phrase)|pwd|secret)["'`]?\s{0,3}[:=]\s{0,3}["'`]?[^\s"'`]{3,}|\b(pass(?:word|wd|phrase)|pwd|secret|credentials?|(?:api|access|secret)[ _-]?key|token)["'`]?\s{0,3}(?:[:=]|is|was)\s{0,3}["'`]?(?=[^\s"'`]{0,64}\d)(?!\d+(?![\w-]))[^\s"'`]{4,}/gi;

/** The patterns that are removed from every provider's sentence, in this order. */
const REMOVED: readonly RegExp[] = [
  /[\w.+-]+@[\w-]+\.[\w.]+/g,
  /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
  NAMED_SECRET,
  // JSON web tokens, basic credentials, and keys with the prefix of their issuer.
  /\beyJ[\w.-]{8,}|\bbasic\s+(?=[^\s]{0,64}[\d=])[\w+/=-]{8,}|\b(?:AKIA|ASIA|AIza)[\w-]{12,}|\b(?:hf|ghp|gho|ghs|pat|glpat|nvapi|pplx|r8|xox[abp]|sess|token|secret)[-_](?=[\w-]{0,64}\d)[\w-]{6,}/gi,
  // File paths of two segments or more, Windows paths, and source lines (`a.py:7`). `tokens/minute`
  // and pointers into the request do not match, because they help the client.
  /(?<![\w./])(?:~|\.{1,2})?\/(?!(?:messages|tools|input|prompt|properties)\b)[\w.@+-]+(?:\/[\w.@+-]+)+\/?|\b[a-z]:\\[^\s"'`]+|\\\\[\w.-]+\\[^\s"'`]+|\b[\w-]{1,64}\.(?:py|cc|cpp|cu|go|rs|js|ts|java):\d+/gi,
  // Amazon resource names, which contain an account and a region.
  /\barn:aws[\w-]*:\S+/gi,
  /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.]*\w)/g,
  // IPv6 addresses with `::` or at least three colons. A time of day has only two.
  /\[[0-9a-f:.]{2,45}\](?::\d{1,5})?|(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){3})(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])/gi,
  // Internal host names, `localhost`, and Amazon's host names of private addresses.
  /\b(?:[\w-]+\.)+(?:internal|local|localdomain|lan|corp|intranet|home|svc|cluster)\b(?:[.:-]\w+)*|\blocalhost\b(?::\d{1,5})?|\bip(?:-\d{1,3}){4}\b[\w.:-]*\b/gi,
  /\b(www\.|[\w-]+(\.[\w-]+)*\.(com|ai|io|net|org|dev|cloud|app)\b)\S*/gi,
  /\bbearer\s+\S+/gi,
  /\b(sk|pk|rk|gsk|xai|key|tok|org|acct|proj|req|request|user|msg|chatcmpl|tm)[-_][\w-]{6,}/gi,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  /\b\d{12}\b/g,
  /\b(?=\w*\d)(?=\w*[a-z])\w{20,}\b/gi,
  // Ids of Amazon instances, pods and containers, and ids after a word such as `node`.
  /\bi-[0-9a-f]{8,17}\b|\b[a-z][a-z\d-]{0,62}-[bcdf-hj-np-tv-xz2456789]{6,10}-[bcdf-hj-np-tv-xz2456789]{5}\b|\b(?=[0-9a-f]{0,11}\d)(?=[0-9a-f]{0,11}[a-f])[0-9a-f]{12,}\b|(?<=\b(?:instance|node|pod|worker|replica|container|hostname|vm)(?: id| name)?[ :=]{1,3})(?=[\w-]{0,64}\d)(?=\d{0,64}[a-z_-])[\w-]{2,}/gi,
];

/** The first sentence without keys, addresses, ids and control characters, of bounded length. */
export function cleanProviderMessage(message: string): string {
  return cleanSentence(message) || FALLBACK;
}

/** Names of request fields that have no underscore by which `fieldName` could recognize them. */
const FIELD_PATTERN =
  "audio|content|effort|field|format|functions?|images?|input|logprobs|messages?|metadata|" +
  "modalities|model|parameters?|prompt|property|roles?|schema|seed|stop|stream|strict|system|" +
  "temperature|thinking|tokens?|tools?|user|verbosity";
/** A quoted name, one with an underscore, a path such as `messages.0.content`, or a known field. */
const fieldName = new RegExp(
  [
    String.raw`["'\`][\w.[\]$-]+["'\`]`,
    String.raw`\b\w+_\w+\b`,
    String.raw`\b[a-z]\w*(?:\.\w+|\[\d+\])+`,
    String.raw`\b(?:${FIELD_PATTERN})\b`,
  ].join("|"),
  "i",
);

/** Quotes the provider's sentence, without account names. Undefined if it names no field. */
export function quoteRequestMessage(message: string): string | undefined {
  const named = message.slice(0, READ_CHARS_MAX).replaceAll(ACCOUNT_NAME, "$1 [removed]");
  const sentence = cleanSentence(named);
  return !fieldName.test(sentence)
    ? undefined
    : cut(`the provider refused the request: ${sentence}`);
}

function cleanSentence(message: string): string {
  const plain = message
    .slice(0, READ_CHARS_MAX)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, " ");
  const clean = REMOVED.reduce(
    (text, pattern) =>
      text.replaceAll(pattern, pattern === NAMED_SECRET ? "$1$2 [removed]" : "[removed]"),
    plain,
  );
  return cut(firstSentence(clean.replaceAll(/\s+/g, " ").trim()));
}

/** The second sentence counts too in "The bound is N. However, you sent M.": both numbers help. */
function firstSentence(text: string): string {
  const joined = text.replace(/\. However,/i, "; however,");
  return /^.*?[.!?](?=\s|$)/.exec(joined)?.[0] ?? joined;
}

function cut(text: string): string {
  if (text.length <= PROVIDER_MESSAGE_CHARS_MAX) return text;
  return `${text.slice(0, PROVIDER_MESSAGE_CHARS_MAX - 1).trimEnd()}…`;
}

const QUOTE_START = /(?<!\w)["'`“‘]|\[/;
const QUOTE_END = /["'`”’](?!\w)|\]/g;

/**
 * Removes quotations and names of fields from each line. All text from a line's first quotation
 * mark to its last is removed, because quoted text can itself contain marks.
 */
export function withoutQuotes(text: string): string {
  const lines = text.split("\n");
  const last = text.length >= MATCHED_CHARS_MAX ? lines.length - 1 : undefined;
  return lines.map((line, at) => withoutLineQuotes(line, at === last)).join("\n");
}

function withoutLineQuotes(text: string, isLineCut: boolean): string {
  const start = text.search(QUOTE_START);
  const end = [...text.matchAll(QUOTE_END)].at(-1)?.index ?? start;
  // If the line or its quotation was cut off, all text after the first mark may be quoted.
  const isCut = end <= start || isLineCut;
  const after = isCut ? "" : text.slice(end + 1);
  const own = start === -1 ? text : `${text.slice(0, start)} ${after}`;
  return own.replaceAll(/[\w.$-]+/g, (word) =>
    // Names with an underscore, and paths such as `messages.0.name`, are names of fields.
    word.includes("_") || /\.\d+\./.test(word) ? " " : word,
  );
}

export interface ProviderErrorText {
  /** Error codes, error types and statuses in lower case; numbers as text. */
  readonly codes: readonly string[];
  readonly message: string;
  /** A `Wording` is matched against this text: lower case, one sentence a line. */
  readonly all: string;
  /** The request field that the provider names; else empty. */
  readonly param: string;
  readonly flagged: boolean;
}

/** A body that is not JSON is itself the message, unless it is HTML, broken JSON or not UTF-8. */
export function readProviderErrorText(body: Buffer): ProviderErrorText {
  const text = body.toString("utf8").trim();
  const parsed = tryParse(text);
  if (parsed !== undefined) return extractErrorText(parsed.value);
  const isUnreadable = text.slice(0, MATCHED_CHARS_MAX).includes("\uFFFD");
  const message = isMarkup(text) || isUnreadable ? "" : text;
  return { codes: [], message, all: toLines([message]), param: "", flagged: false };
}

/** True for pages and JSON. Qwen's messages can begin with `<400>`, which is neither. */
export function isMarkup(text: string): boolean {
  return /^\s*(?:\{|<[a-z!?/])/i.test(text);
}

/** OpenRouter's message for an error of a provider, whose own body is in `metadata.raw`. */
const OUTER_MESSAGE = /^provider returned error\.?$/i;

export function extractErrorText(value: unknown): ProviderErrorText {
  const speakers = findSpeakers(value);
  const codes = speakers.flatMap(collectCodes);
  const sentences = speakers.map(findSentence).filter((sentence) => sentence !== "");
  const own = sentences.find((sentence) => !OUTER_MESSAGE.test(sentence) && !isMarkup(sentence));
  const message = own ?? sentences[0] ?? textOf(value).slice(0, SENTENCE_CHARS_MAX);
  const params = speakers.map((speaker) => textOf(speaker["param"]));
  return {
    codes,
    message,
    all: toLines([message, ...sentences]),
    param: params.find((name) => name !== "")?.slice(0, CODE_CHARS_MAX) ?? "",
    flagged: speakers.some(
      ({ reasons, flagged_input: input }) => Array.isArray(reasons) || typeof input === "string",
    ),
  };
}

function toLines(sentences: readonly string[]): string {
  const lines = sentences.map((sentence) => sentence.replaceAll("\n", " "));
  return lines.join("\n").slice(0, MATCHED_CHARS_MAX).toLowerCase();
}

/** Providers word an error near the start, and matching a long text would be slow. */
const MATCHED_CHARS_MAX = 8_192;
/** A message can be as long as a body, because some providers nest another body in it. */
const SENTENCE_CHARS_MAX = ERROR_BODY_BYTES_MAX;
const CODE_CHARS_MAX = 256;

type Speaker = Readonly<Record<string, unknown>>;

/** The objects of an error body that can have an error code or message, the preferred one first. */
function findSpeakers(value: unknown): Speaker[] {
  const root = asObject(Array.isArray(value) ? value[0] : value);
  if (root === undefined) return [];
  const error = asObject(root["error"]);
  const metadata = asObject(error?.["metadata"]);
  const first = Array.isArray(root["errors"]) ? asObject(root["errors"][0]) : undefined;
  const raw = tryParse(textOf(metadata?.["raw"]).slice(0, SENTENCE_CHARS_MAX))?.value;
  const details = Array.isArray(error?.["details"]) ? error["details"].map(asObject) : [];
  const nested = findNestedBody(textOf(error?.["message"]).slice(0, SENTENCE_CHARS_MAX));
  return [
    error,
    asObject(error?.["innererror"]),
    asObject(error?.["error"]),
    // Google has the code of an error as the reason of one of its details.
    details.find((detail) => typeof detail?.["reason"] === "string"),
    // At most a few levels deep, because the escapes of a text within a text double at each level.
    ...findSpeakers(raw),
    metadata,
    nested,
    asObject(nested?.["error"]),
    first,
    asObject(root["message"]),
    asObject(root["detail"]),
    asObject(root["x_groq"]),
    root,
  ].filter((speaker) => speaker !== undefined);
}

/**
 * Matches the start of a proxy's message that has an error body after the name of an exception:
 * "BadRequestError: VendorException - {". Other JSON may be quoted from the request: it is not read.
 */
const NESTED_START = /^[\w.: -]{0,200}(?:Error|Exception)(?:: | - )(?:b')?(?=\{)/;

function findNestedBody(message: string): Speaker | undefined {
  const start = NESTED_START.exec(message)?.[0].length;
  if (start === undefined) return undefined;
  return asObject(tryParse(message.slice(start, message.lastIndexOf("}") + 1))?.value);
}

function collectCodes(speaker: Speaker): string[] {
  const found: string[] = [];
  for (const key of ["code", "type", "status", "error_type", "reason"]) {
    const value = speaker[key];
    if (typeof value === "string" || typeof value === "number") {
      found.push(String(value).slice(0, CODE_CHARS_MAX).toLowerCase());
    }
  }
  return found;
}

function findSentence(speaker: Speaker): string {
  for (const key of ["message", "msg", "detail", "error", "raw"]) {
    const value = speaker[key];
    if (typeof value === "string" && value !== "") return value.slice(0, SENTENCE_CHARS_MAX);
    if (!Array.isArray(value)) continue;
    const first = textOf(asObject(value[0])?.["msg"]);
    if (first !== "") return first.slice(0, SENTENCE_CHARS_MAX);
  }
  return "";
}
