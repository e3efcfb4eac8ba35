import { dirname, join } from "node:path";

import {
  isNode,
  nodesOf,
  nodesWith,
  parse,
  roomOf,
  textOf,
  wingOf,
  type Rule,
  type SourceFile,
} from "./source-files.ts";

/** The file through which other folders import a folder. */
export const DOOR = "index.ts";

/** The layer table of ARCHITECTURE.md: which other wings each wing, a folder of `src`, may import. */
type LayerTable = ReadonlyMap<string, { readonly level: number; readonly mayImport: Allowed }>;
/** `everything` stands for all wings of a lower level. */
type Allowed = readonly string[] | "everything";

/** Reads the rows with a level, a folder and what it may import, with names in code quotes. */
export function readLayerTable(markdown: string): LayerTable {
  const lines = [...markdown.matchAll(/^\| (\d+) +\| `([a-z-]+)` +\| (.*?) *\|$/gm)];
  const rows = lines.map(([, level, folder = "", names = ""]) => {
    const listed = [...names.matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name);
    const mayImport: Allowed = names === "everything lower" ? "everything" : listed;
    return [folder, { level: Number(level), mayImport }] as const;
  });
  const table = new Map(rows);
  if (table.size < rows.length) throw new Error("a folder is in the layer table twice");
  return table;
}

/** Returns folders that have no row, and rows whose folder does not exist. */
export function unknownFolders(files: readonly SourceFile[], table: LayerTable): string[] {
  const found = new Set(files.map(({ file }) => wingOf(file)));
  const missing = [...found].filter((wing) => !table.has(wing));
  const empty = [...table.keys()].filter((wing) => !found.has(wing));
  return [
    ...missing.map((wing) => `src/${wing} is not in the layer table`),
    ...empty.map((wing) => `src/${wing} is in the layer table and does not exist`),
  ];
}

export function forbiddenImports(files: readonly SourceFile[], table: LayerTable): string[] {
  return edgesOf(files)
    .filter(({ from, to }) => !isAllowed(table, from, to))
    .map(({ file, target }) => `${file} imports ${target}`);
}

function isAllowed(table: LayerTable, from: string, to: string): boolean {
  const row = table.get(from);
  if (row?.mayImport !== "everything") return row?.mayImport.includes(to) === true;
  return (table.get(to)?.level ?? Infinity) < row.level;
}

/** Returns the imports that the table allows by name and that no file has. */
export function unusedAllowances(files: readonly SourceFile[], table: LayerTable): string[] {
  const used = new Set(edgesOf(files).map(({ from, to }) => `${from} > ${to}`));
  return allowances(table)
    .map(([from, to]) => `${from} > ${to}`)
    .filter((each) => !used.has(each));
}

/** Returns the imports that the table allows by name although they lead to no lower level. */
export function uphillAllowances(table: LayerTable): string[] {
  const levelOf = (wing: string): number => table.get(wing)?.level ?? Infinity;
  return allowances(table)
    .filter(([from, to]) => levelOf(to) >= levelOf(from))
    .map(([from, to]) => `${from} > ${to}`);
}

function allowances(table: LayerTable): (readonly [from: string, to: string])[] {
  return [...table].flatMap(([from, { mayImport }]) =>
    mayImport === "everything" ? [] : mayImport.map((to) => [from, to] as const),
  );
}

function edgesOf(files: readonly SourceFile[]) {
  return files.flatMap((source) =>
    programImportsOf(source)
      .map((target) => ({
        file: source.file,
        target,
        from: wingOf(source.file),
        to: wingOf(target),
      }))
      .filter(({ target, from, to }) => target.startsWith("src/") && from !== to),
  );
}

export function fileCycles(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ file }) => file));
  const imports = new Map(
    files.map((source) => [
      source.file,
      programImportsOf(source).filter((target) => known.has(target)),
    ]),
  );
  const done = new Set<string>();
  const path: string[] = [];
  const found: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(" > "));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const { file } of files) visit(file);
  return found;
}

const IO_MODULES =
  /^(node:)?(fs|net|http|https|http2|dns|tls|dgram|child_process|cluster)(\/|$)|^(undici|ioredis|stripe|fastify)$/;
const WITH_IO = new Set("storage backup upstream http console-api app cli dev".split(" "));

/** Files of other folders that open them too, or look as if they did, each with the reason. */
export const IO_FILES: Readonly<Record<string, string>> = {
  "src/kernel/core/client-address.ts": "reads addresses as the system does, and opens nothing",
  "src/account/billing/stripe-payments.ts": "the one client of the payment provider",
  "src/account/billing/stripe-cards.ts": "the kinds of faults of that client",
  "src/account/identity/relying-party.ts": "asks the identity provider, also for its keys",
  "src/ledger/retention/day-folder.ts": "writes exported days",
  "src/ledger/retention/signing-key.ts": "reads the key that signs them",
};

export const inputAndOutputAreAtTheEdge: Rule = (files) =>
  files
    .filter(({ file }) => !WITH_IO.has(roomOf(file)) && !(file in IO_FILES))
    .flatMap((source) => [
      ...valueImportsOf(source)
        .filter((specifier) => IO_MODULES.test(specifier))
        .map((specifier) => `${source.file} imports ${specifier}`),
      ...nodesWith(source, /\bfetch\b/, (node) => {
        const callee = node.type === "CallExpression" ? node["callee"] : undefined;
        return isNode(callee) && callee["name"] === "fetch";
      }),
    ]);

/** Returns the files of this program that a file imports, including types and re-exports. */
export function programImportsOf(source: SourceFile): string[] {
  return [...valueImportsOf(source, true), ...typeImportsOf(source)]
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(source.file), specifier));
}

/** Returns the imports at run time; with `withTypes`, also those that only the compiler reads. */
function valueImportsOf(source: SourceFile, withTypes = false): string[] {
  const { module } = parse(source);
  return [
    ...module.staticImports
      .filter(({ entries }) => withTypes || entries.length === 0 || entries.some((e) => !e.isType))
      .map((each) => each.moduleRequest.value),
    ...module.staticExports.flatMap((each) =>
      each.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map((each) =>
      source.text.slice(each.moduleRequest.start + 1, each.moduleRequest.end - 1),
    ),
  ];
}

/** Returns the targets of `import("./a.ts").A`, which the parser's module record leaves out. */
function typeImportsOf(source: SourceFile): string[] {
  if (!/\bimport\(/.test(source.text)) return [];
  return nodesOf(source).flatMap(({ type, source: from }) =>
    type === "TSImportType" && isNode(from) ? [textOf(source, from).slice(1, -1)] : [],
  );
}
