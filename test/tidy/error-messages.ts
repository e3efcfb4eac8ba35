import { nodesOf, placeOf, type SourceFile, type SyntaxNode } from "./source-files.ts";

/** A text that is shown as an error, with a number for each value that it is filled with. */
export interface ErrorText {
  readonly place: string;
  readonly text: string;
}

/** Values and results of these names are what went wrong, as people read it. */
const NAMED = /problem|(?<!de)fault|error|trouble|message|refus/i;
const MEMBERS: ReadonlySet<string> = new Set(["message", "problem", "error"]);
const CALLS = /^(invalidField|invalid|conflict|rateLimited|set(Problem|Fault|Error))$|Fault$/;
const HINT = /problem|fault|error|trouble|message|refus|conflict|invalid/i;

/** Every text with a space that a file shows as an error. */
export function errorTextsOf(source: SourceFile): ErrorText[] {
  if (!HINT.test(source.text)) return [];
  const nodes = nodesOf(source);
  const found = new Map<number, ErrorText>();
  for (const node of nodes) {
    for (const text of shownBy(node, nodes)) {
      const written = writtenOf(text).trim();
      if (!written.includes(" ")) continue;
      found.set(text.start, { place: placeOf(source, text.start), text: written });
    }
  }
  return [...found.values()];
}

function shownBy(node: SyntaxNode, nodes: readonly SyntaxNode[]): readonly SyntaxNode[] {
  switch (node.type) {
    case "Property":
      return MEMBERS.has(nameOf(node["key"])) ? textsIn(node["value"]) : [];
    case "VariableDeclarator":
      return NAMED.test(nameOf(node["id"])) ? textsIn(node["init"]) : [];
    case "CallExpression":
    case "NewExpression":
      return CALLS.test(nameOf(node["callee"])) ? textsIn(node["arguments"]) : [];
    case "JSXAttribute":
      return nameOf(node["name"]) === "error" ? textsIn(node["value"]) : [];
    case "FunctionDeclaration":
      return NAMED.test(nameOf(node["id"])) ? returnsIn(node, nodes) : [];
    default:
      return [];
  }
}

function returnsIn(of: SyntaxNode, nodes: readonly SyntaxNode[]): readonly SyntaxNode[] {
  return nodes
    .filter(
      ({ type, start, end }) => type === "ReturnStatement" && start > of.start && end < of.end,
    )
    .flatMap((node) => textsIn(node["argument"]));
}

/** The texts that a value may be: of either side of a choice, of each argument of a call. */
function textsIn(value: unknown): readonly SyntaxNode[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  const node = value as SyntaxNode | null | undefined;
  if (node === null || node === undefined) return [];
  switch (node.type) {
    case "Literal":
      return typeof node["value"] === "string" ? [node] : [];
    case "TemplateLiteral":
      return [node];
    case "BinaryExpression":
      return node["operator"] === "+" ? [node] : [];
    case "ConditionalExpression":
      return [node["consequent"], node["alternate"]].flatMap(textsIn);
    case "LogicalExpression":
      return [node["left"], node["right"]].flatMap(textsIn);
    case "JSXExpressionContainer":
      return textsIn(node["expression"]);
    default:
      return [];
  }
}

function writtenOf(node: SyntaxNode): string {
  if (node.type === "Literal") return String(node["value"]);
  if (node.type === "BinaryExpression") {
    return writtenOf(node["left"] as SyntaxNode) + writtenOf(node["right"] as SyntaxNode);
  }
  if (node.type !== "TemplateLiteral") return FILLED;
  return (node["quasis"] as SyntaxNode[])
    .map((piece) => (piece["value"] as { cooked: string }).cooked)
    .join(FILLED);
}

const FILLED = "5";

function nameOf(value: unknown): string {
  const name = (value as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === "string" ? name : "";
}

/** What is wrong with a text as people read it; undefined: it is a sentence in plain English. */
export function flawOf(shown: string): string | undefined {
  if (!/^["“$]?[A-Z0-9]/.test(shown)) return "begins with no capital letter";
  if (!/([.!?…]|[.!?…]["”)])$/.test(shown)) return "ends without a full stop";
  const code = CODE.exec(shown.replace(/\btm_vk_/g, ""))?.[0];
  return code === undefined ? undefined : `has the name ${code} of the program`;
}

/** `snake_case`, `camelCase`, and what is written between back quotes. */
const CODE = /\b[a-z]+_[a-z_]*\b|\b[a-z]+[A-Z][A-Za-z]*\b|`/;
