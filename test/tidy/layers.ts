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

/** One table of ARCHITECTURE.md: what each folder below `parent` may import of its siblings. */
export interface LayerTable {
  /** `src`, or a folder of it that has a table of its own: `src/formats/wire`. */
  readonly parent: string;
  readonly rows: ReadonlyMap<string, LayerRow>;
}

export interface LayerRow {
  readonly level: number;
  /** `everything`: whatever has a lower level. */
  readonly mayImport: ReadonlySet<string> | "everything";
}

/** The name of the row for files that are in the parent itself. */
const OWN_FILES = "its own files";
/** The file by which other folders import one. */
export const DOOR = "index.ts";
/** The imports of a row that puts everything together. */
const EVERYTHING = "everything lower";

/**
 * Reads the layer tables of ARCHITECTURE.md: each one with the columns `Level`, `Folder of src/…` and
 * `May import`, names in code quotes. Throws on a table that it cannot read.
 */
export function readLayerTables(markdown: string): LayerTable[] {
  const tables: { parent: string; rows: Map<string, LayerRow> }[] = [];
  for (const line of markdown.split("\n")) {
    const cells = /^\|(.+)\|$/
      .exec(line)?.[1]
      ?.split("|")
      .map((cell) => cell.trim());
    if (cells === undefined) continue;
    const [level = "", folder = "", mayImport = ""] = cells;
    const parent = /^Folder of `(src[^`]*?)\/`$/.exec(folder)?.[1];
    if (parent !== undefined) tables.push({ parent, rows: new Map() });
    const name =
      /^`([a-z-]+(?:\.ts)?)`$/.exec(folder)?.[1] ?? (folder === OWN_FILES ? folder : undefined);
    const rows = tables.at(-1)?.rows;
    if (name === undefined || rows === undefined || !/^\d+$/.test(level)) continue;
    if (rows.has(name)) throw new Error(`${name} is in the layer table twice`);
    const names = [...mayImport.matchAll(/`([a-z-]+(?:\.ts)?)`|(its own files)/g)].map(
      ([, code, own]) => code ?? own ?? "",
    );
    const allowed = mayImport === EVERYTHING ? "everything" : new Set(names);
    rows.set(name, { level: Number(level), mayImport: allowed });
  }
  return tables.map((table) => ({ ...table }));
}

/** Folders that a table does not know, and rows whose folder does not exist. */
export function unknownFolders(
  files: readonly SourceFile[],
  tables: readonly LayerTable[],
): string[] {
  return tables.flatMap(({ parent, rows }) => {
    const found = new Set(files.flatMap(({ file }) => childOf({ parent, rows }, file) ?? []));
    const missing = [...found].filter((folder) => !rows.has(folder));
    const empty = [...rows.keys()].filter((folder) => !found.has(folder));
    return [
      ...missing.map((folder) => `${parent}/${folder} is not in the layer table`),
      ...empty.map((folder) => `${parent}/${folder} is in the layer table and does not exist`),
    ];
  });
}

/** Imports that the tables do not allow. */
export function forbiddenImports(
  files: readonly SourceFile[],
  tables: readonly LayerTable[],
): string[] {
  return edgesOf(files, tables)
    .filter(({ table, from, to }) => !isAllowed(table, from, to))
    .map(({ file, target }) => `${file} imports ${target}`);
}

function isAllowed({ rows }: LayerTable, from: string, to: string): boolean {
  const row = rows.get(from);
  if (row?.mayImport !== "everything") return row?.mayImport.has(to) === true;
  return (rows.get(to)?.level ?? Infinity) < row.level;
}

/** The names that a row lists. */
function listed({ mayImport: names }: LayerRow): readonly string[] {
  return names === "everything" ? [] : [...names];
}

/** Allowances of the tables that no import needs. */
export function unusedAllowances(
  files: readonly SourceFile[],
  tables: readonly LayerTable[],
): string[] {
  const used = new Set(
    edgesOf(files, tables).map(({ table, from, to }) => `${table.parent}/${from} > ${to}`),
  );
  return tables.flatMap(({ parent, rows }) =>
    [...rows].flatMap(([from, row]) =>
      listed(row)
        .map((to) => `${parent}/${from} > ${to}`)
        .filter((each) => !used.has(each)),
    ),
  );
}

/** Allowances of the tables that do not go to a lower level. */
export function uphillAllowances(tables: readonly LayerTable[]): string[] {
  return tables.flatMap(({ parent, rows }) =>
    [...rows].flatMap(([from, row]) =>
      listed(row)
        .filter((to) => (rows.get(to)?.level ?? Infinity) >= row.level)
        .map((to) => `${parent}/${from} > ${to}`),
    ),
  );
}

/** Files that import each other, directly or through others; a file of each such group. */
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

interface Edge {
  readonly table: LayerTable;
  readonly from: string;
  readonly to: string;
  readonly file: string;
  readonly target: string;
}

/** Every import that goes from one child of a table's parent to another. */
function edgesOf(files: readonly SourceFile[], tables: readonly LayerTable[]): Edge[] {
  return files.flatMap((source) =>
    programImportsOf(source).flatMap((target) =>
      tables.flatMap((table): Edge[] => {
        const from = childOf(table, source.file);
        const to = childOf(table, target);
        if (from === undefined || to === undefined || from === to) return [];
        return [{ table, from, to, file: source.file, target }];
      }),
    ),
  );
}

/**
 * The row of a file: the child of `parent` that it is in, or the file itself where it has a row of
 * its own; undefined when it is not below `parent`.
 */
function childOf({ parent, rows }: LayerTable, file: string): string | undefined {
  // A door exports from every level of its folder.
  if (!file.startsWith(`${parent}/`) || file === `${parent}/${DOOR}`) return undefined;
  const [child = "", ...rest] = file.slice(parent.length + 1).split("/");
  return rest.length === 0 && !rows.has(child) ? OWN_FILES : child;
}

/** Modules that open files, sockets or processes. */
const IO_MODULES =
  /^(node:)?(fs|net|http|https|http2|dns|tls|dgram|child_process|cluster)(\/|$)|^(undici|ioredis|stripe|fastify)$/;
const WITH_IO = new Set("storage backup upstream http console-api app cli dev".split(" "));

/** Files of other folders that do, each with the reason. */
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

/** Files of this program that a file imports, types and re-exports included. */
export function programImportsOf(source: SourceFile): string[] {
  return specifiersOf(source)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(source.file), specifier));
}

function specifiersOf(source: SourceFile): string[] {
  return [...valueImportsOf(source, true), ...typeImportsOf(source)];
}

/** The imports when the program runs; with types, also those that only the compiler reads. */
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

/** `import("./a.ts").A`: a type by its path, which a parser's module record leaves out. */
function typeImportsOf(source: SourceFile): string[] {
  if (!/\bimport\(/.test(source.text)) return [];
  return nodesOf(source).flatMap(({ type, source: from }) =>
    type === "TSImportType" && isNode(from) ? [textOf(source, from).slice(1, -1)] : [],
  );
}
