import { isNode, nodesWith, parse, placeOf, type Rule, type SyntaxNode } from "./source-files.ts";

const UPPER_CASE = /^[A-Z][A-Z0-9_]*$/;
/** Units keep the spelling of their standard. */
const UNITS = new Set(["KiB", "MiB"]);
/** Values that are written out: numbers, texts, patterns and lists. */
const WRITTEN_OUT = new Set([
  "ArrayExpression",
  "BinaryExpression",
  "Literal",
  "TemplateLiteral",
  "UnaryExpression",
]);

/** A module's constant whose value is written out has a name in capitals. */
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

/** The value without `as const`, `satisfies` and parentheses. */
function bare(value: SyntaxNode): SyntaxNode {
  const inner = value["expression"];
  const isWrapped = /^(TS(As|Satisfies)|Parenthesized)Expression$/.test(value.type);
  return isWrapped && isNode(inner) ? bare(inner) : value;
}

/** The language hides a `#member`; `private` is a promise of the compiler alone. */
export const privateMembersAreHidden: Rule = (files) =>
  files.flatMap((source) =>
    nodesWith(
      source,
      /\b(private|protected)\b/,
      ({ accessibility, kind }) =>
        (accessibility === "private" || accessibility === "protected") && kind !== "constructor",
    ),
  );
