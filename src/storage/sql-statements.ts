/** What a piece of SQL text is: skipped, or part of a statement that has no end inside. */
const PIECES: readonly { readonly pattern: RegExp; readonly isComment: boolean }[] = [
  { pattern: /--[^\n]*/y, isComment: true },
  { pattern: /\/\*[^]*?\*\//y, isComment: true },
  { pattern: /'(?:[^']|'')*'/y, isComment: false },
  { pattern: /"(?:[^"]|"")*"/y, isComment: false },
  // The body of a function: `$$ … $$`, or with a word between the signs.
  { pattern: /(\$\w*\$)[^]*?\1/y, isComment: false },
];

/** The statements of a file of SQL in their order, without comments outside of function bodies. */
export function sqlStatements(text: string): readonly string[] {
  const statements: string[] = [];
  let statement = "";
  for (let at = 0; at < text.length;) {
    const piece = pieceAt(text, at);
    if (piece !== undefined) {
      statement += piece.isComment ? " " : piece.text;
      at += piece.text.length;
      continue;
    }
    const sign = text.charAt(at);
    if (sign === ";") {
      statements.push(statement.trim());
      statement = "";
    } else {
      statement += sign;
    }
    at += 1;
  }
  return [...statements, statement.trim()].filter((each) => each !== "");
}

/** A statement on one line in small letters, its function bodies and texts left out: for patterns. */
export function statementOutline(statement: string): string {
  return statement
    .replace(/(\$\w*\$)[^]*?\1/g, "$$$$")
    .replace(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, " ")
    .toLowerCase();
}

function pieceAt(
  text: string,
  at: number,
): { readonly text: string; readonly isComment: boolean } | undefined {
  for (const { pattern, isComment } of PIECES) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { text: found, isComment };
  }
  return undefined;
}
