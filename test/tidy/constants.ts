import { isNode, nodesWith, parse, placeOf, type Rule, type SyntaxNode } from "./source-files.ts";

const UPPER_CASE = /^[A-Z][A-Z0-9_]*$/;
const UNITS = new Set(["KiB", "MiB"]);
/** Types of nodes whose value is written out: numbers, strings, patterns and lists. */
const WRITTEN_OUT = new Set([
  "ArrayExpression",
  "BinaryExpression",
  "Literal",
  "TemplateLiteral",
  "UnaryExpression",
]);

/** Requires a name in capitals for each module constant whose value is written out. */
export const constantsAreInCapitals: Rule = (files) =>
  files.flatMap((source) =>
    parse(source)
      .program.body.map((statement) => statement as unknown as SyntaxNode)
      .flatMap((statement) => {
        const inner = statement["declaration"];
        const declared = isNode(inner) ? inner : statement;
        if (declared.type !== "VariableDeclaration" || declared["kind"] !== "const") return [];
        return (declared["declarations"] as readonly SyntaxNode[]).filter(isMisnamed);
      })
      .map(({ start }) => placeOf(source, start)),
  );

function isMisnamed({ id, init }: SyntaxNode): boolean {
  if (!isNode(id) || id.type !== "Identifier" || !isNode(init)) return false;
  const name = String(id["name"]);
  return WRITTEN_OUT.has(bare(init).type) && !UPPER_CASE.test(name) && !UNITS.has(name);
}

/** Returns the value without `as const`, `satisfies` and parentheses. */
function bare(value: SyntaxNode): SyntaxNode {
  const inner = value["expression"];
  const isWrapped = /^(TS(As|Satisfies)|Parenthesized)Expression$/.test(value.type);
  return isWrapped && isNode(inner) ? bare(inner) : value;
}

/** Requires `#member`, which the language hides; `private` is checked by the compiler only. */
export const privateMembersAreHidden: Rule = (files) =>
  files.flatMap((source) =>
    nodesWith(
      source,
      /\b(private|protected)\b/,
      ({ accessibility, kind }) =>
        (accessibility === "private" || accessibility === "protected") && kind !== "constructor",
    ),
  );
