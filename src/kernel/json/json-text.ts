/**
 * JSON text as a byte string: one character per byte of its UTF-8 form. It is cut from a body and
 * put into another one without decoding, so digits, escapes and lone surrogates stay as they were.
 */
export type JsonText = string & { readonly __text: "json" };

/** The JSON string token of `text`. */
export function textToken(text: string): JsonText {
  return Buffer.from(JSON.stringify(text)).toString("latin1") as JsonText;
}

/** The text that a JSON string token means. */
export function tokenText(token: JsonText): string {
  return JSON.parse(Buffer.from(token, "latin1").toString()) as string;
}

/** The JSON string token whose text is the JSON text `value` itself. */
export function quoteText(value: JsonText): JsonText {
  return JSON.stringify(value) as JsonText;
}

/** Joins JSON string tokens to one, `separator` (already escaped) between them. */
export function joinTokens(tokens: readonly JsonText[], separator: string): JsonText {
  return `"${tokens.map((token) => token.slice(1, -1)).join(separator)}"` as JsonText;
}

/** True when the token's text is empty or only white space. */
export function isBlankToken(token: JsonText): boolean {
  // A scan: a repeated group of a pattern overflows the stack on megabytes of blanks.
  let at = 1;
  const end = token.length - 1;
  while (at < end) {
    if (token[at] === " ") at += 1;
    else if (token[at] === "\\" && "nrtf".includes(token[at + 1] ?? "")) at += 2;
    else return false;
  }
  return true;
}

/** A JSON object of these members; absent ones are left out. */
export function objectText(members: Readonly<Record<string, string | undefined>>): JsonText {
  let text = "";
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) text += `${text === "" ? "" : ","}"${name}":${value}`;
  }
  return `{${text}}` as JsonText;
}

export function arrayText(items: readonly string[]): JsonText {
  return `[${items.join(",")}]` as JsonText;
}

/** The bytes of a JSON text. */
export function textBytes(text: JsonText): Buffer {
  return Buffer.from(text, "latin1");
}
