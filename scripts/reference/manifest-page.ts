import { listManifestRules, manifestSchema } from "../../src/catalog/manifest/index.ts";
import { code, page, table } from "./markdown.ts";

interface Node {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: string | number | boolean;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly "x-help"?: string;
  readonly "x-rule"?: string;
}

/** Returns docs/reference/manifest.md: a table for each object of the schema, then the rules. */
export function manifestPage(): string {
  const objects = objectsOf(manifestSchema);
  return page(
    "Provider manifest",
    "Source: `src/catalog/manifest`. A provider publishes one such JSON document to be listed. " +
      "`schema/provider-manifest.schema.json` is the same as JSON Schema 2020-12; " +
      "`tokenmarket manifest check FILE` reports every problem with a JSON pointer and a rule id.",
    ...objects.map(objectSection),
    rulesSection(),
  );
}

/** The objects with a title, from `node` down in the order of their fields, each once. */
function objectsOf(node: Node): Node[] {
  const inner = Object.values(node.properties ?? {}).flatMap((field) =>
    objectsOf(innermost(field)),
  );
  const found = node.title === undefined ? inner : [node, ...inner];
  return [...new Map(found.map((object) => [object.title, object])).values()];
}

/** Returns the element type of a list or a map, and any other type as it is. */
function innermost(node: Node): Node {
  const member = node.items ?? node.additionalProperties;
  return typeof member === "object" ? innermost(member) : node;
}

function objectSection(node: Node): string {
  const rows = Object.entries(node.properties ?? {}).map(([name, field]) => [
    code(name),
    typeName(field),
    node.required?.includes(name) === true ? "yes" : "no",
    field.default === undefined ? "" : code(String(field.default)),
    meaning(field),
  ]);
  const header = ["Field", "Type", "Required", "Default", "Meaning and rule"];
  return [`## ${node.title ?? ""}`, node.description ?? "", table(header, rows)].join("\n\n");
}

function typeName(node: Node): string {
  if (node.items !== undefined) return `list of ${typeName(node.items)}`;
  if (typeof node.additionalProperties === "object") return `map to ${typeName(innermost(node))}`;
  if (node.title !== undefined) return `[${node.title}](#${node.title.toLowerCase()})`;
  const words = node.enum ?? (node.const === undefined ? [] : [node.const]);
  if (words.length > 0) return words.map((word) => code(String(word))).join(" or ");
  return node.type ?? "see there";
}

/** A pattern that is longer than this is not shown, because the text of its rule says more. */
const PATTERN_CHARS_MAX = 80;

function meaning(node: Node): string {
  if (node.title !== undefined) return node.description ?? "";
  const pattern = node.pattern ?? innermost(node).pattern;
  const isShort = pattern !== undefined && pattern.length <= PATTERN_CHARS_MAX;
  const limits = isShort ? ` Pattern ${code(pattern)}.` : "";
  const rule = node["x-rule"] ?? innermost(node)["x-rule"];
  const name = rule === undefined ? "" : ` Rule ${code(rule)}.`;
  return `${node.description ?? ""}${limits}${name}`;
}

function rulesSection(): string {
  const rows = listManifestRules().map(({ id, texts }) => [code(id), wordsOf(texts)]);
  const note =
    "Required by modality and by other fields, and all other rules: the id is what the validator " +
    "reports. The place it is about is the subject of the sentence.";
  return ["## Rules", note, table(["Rule", "The place …"], rows)].join("\n\n");
}

/** Joins the texts of a rule. Shows only the first two if there are more than three. */
function wordsOf(texts: readonly string[]): string {
  if (texts.length <= 3) return texts.join("; or: ");
  return `${texts.slice(0, 2).join("; or: ")}; and so on`;
}
