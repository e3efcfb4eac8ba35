import { dirname, join } from "node:path";

import {
  isNode,
  nodesOf,
  nodesWith,
  parse,
  roomOf,
  textOf,
  type Rule,
  type SourceFile,
} from "./source-files.ts";

/** What each folder of `src/` may import, besides itself. The table of ARCHITECTURE.md, as data. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  config: ["core"],
  manifest: ["core"],
  catalog: ["core", "manifest"],
  pricing: ["core", "catalog"],
  wires: ["core", "catalog"],
  auth: ["core", "limits"],
  limits: ["core"],
  ledger: ["core"],
  jobs: ["core", "ledger"],
  routing: ["core", "catalog", "wires"],
  admission: ["core", "auth", "limits", "ledger"],
  dispatch: ["core", "catalog", "wires", "routing", "limits"],
  gateway: words(
    "core config manifest catalog pricing wires auth limits ledger jobs routing admission dispatch",
  ),
  simulator: ["core", "wires/sse"],
  identity: ["core", "config", "auth", "ledger"],
  billing: ["core", "config", "auth", "ledger"],
  optimize: ["core", "auth", "ledger"],
  http: ["core", "config", "catalog", "auth", "wires", "gateway"],
  "console-api": words(
    "core config manifest catalog auth limits ledger routing gateway identity billing optimize",
  ),
  storage: words("core auth limits ledger jobs routing identity billing optimize"),
  compose: words(
    "core config manifest catalog pricing wires auth limits ledger jobs routing admission",
    "dispatch gateway simulator http identity billing optimize console-api storage",
  ),
  cli: words("core config manifest catalog auth ledger identity billing simulator compose"),
};

/** What only dispatch and the folders above it may use. */
const IO_MODULES =
  /^(node:)?(fs|net|http|https|http2|dns|tls|dgram|child_process|cluster)(\/|$)|^(undici|pg|ioredis|stripe)$/;
const WITHOUT_IO = words(
  "core config manifest catalog pricing wires auth limits ledger jobs routing admission",
);

export const everyFolderIsInTheTable: Rule = (files) =>
  [...new Set(files.map(({ file }) => roomOf(file)))].filter((room) => !(room in MAY_IMPORT));

export const importsGoDownhill: Rule = (files) =>
  files.flatMap((source) =>
    programImportsOf(source)
      .filter((target) => !isAllowed(source.file, target))
      .map((target) => `${source.file} imports ${target}`),
  );

export const onlyComposeImportsStorage: Rule = (files) =>
  files
    .filter(({ file }) => !["storage", "compose"].includes(roomOf(file)))
    .filter((source) => programImportsOf(source).some((target) => roomOf(target) === "storage"))
    .map(({ file }) => file);

export const noIoBelowDispatch: Rule = (files) =>
  files
    .filter(({ file }) => WITHOUT_IO.includes(roomOf(file)))
    .flatMap((source) => [
      ...specifiersOf(source)
        .filter((specifier) => IO_MODULES.test(specifier))
        .map((specifier) => `${source.file} imports ${specifier}`),
      ...nodesWith(source, /\bfetch\b/, (node) => {
        const callee = node.type === "CallExpression" ? node["callee"] : undefined;
        return isNode(callee) && callee["name"] === "fetch";
      }),
    ]);

/** Rows of a table that import each other, directly or through others. */
export function cyclesOf(table: Readonly<Record<string, readonly string[]>>): string[] {
  const below = (room: string, seen: Set<string>): Set<string> => {
    for (const next of (table[room] ?? []).map((each) => each.split("/")[0] ?? each)) {
      if (!seen.has(next)) below(next, seen.add(next));
    }
    return seen;
  };
  return Object.keys(table).filter((room) => below(room, new Set()).has(room));
}

/** Files of this program that a file imports, types and re-exports included. */
export function programImportsOf(source: SourceFile): string[] {
  return specifiersOf(source)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(source.file), specifier));
}

function specifiersOf(source: SourceFile): string[] {
  const { module } = parse(source);
  return [
    ...module.staticImports.map((each) => each.moduleRequest.value),
    ...module.staticExports.flatMap((each) =>
      each.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map((each) =>
      source.text.slice(each.moduleRequest.start + 1, each.moduleRequest.end - 1),
    ),
    ...typeImportsOf(source),
  ];
}

/** `import("./a.ts").A`: a type by its path, which a parser's module record leaves out. */
function typeImportsOf(source: SourceFile): string[] {
  if (!/\bimport\(/.test(source.text)) return [];
  return nodesOf(source).flatMap(({ type, source: from }) =>
    type === "TSImportType" && isNode(from) ? [textOf(source, from).slice(1, -1)] : [],
  );
}

function isAllowed(file: string, target: string): boolean {
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return true;
  const folder = dirname(target).replace(/^src\//, "");
  return (MAY_IMPORT[from] ?? []).some((room) => room === to || folder === room);
}

function words(...lines: readonly string[]): readonly string[] {
  return lines.join(" ").split(" ");
}
