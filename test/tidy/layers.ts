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

/** One table of ARCHITECTURE.md: which of its siblings each folder below `parent` may import. */
export interface LayerTable {
  /** `src`, or a folder below it that has its own table, such as `src/formats/wire`. */
  readonly parent: string;
  readonly rows: ReadonlyMap<string, LayerRow>;
}

export interface LayerRow {
  readonly level: number;
  /** `everything` stands for all folders of a lower level. */
  readonly mayImport: ReadonlySet<string> | "everything";
}

/** In the column `Folder of src/…`, stands for the files directly in the parent folder. */
const OWN_FILES = "its own files";
/** The file through which other folders import a folder. */
export const DOOR = "index.ts";
/** In the column `May import`, stands for all folders of a lower level. */
const EVERYTHING = "everything lower";

/**
 * Reads the layer tables of ARCHITECTURE.md. Each has the columns `Level`, `Folder of src/…` and
 * `May import`, with names in code quotes. Throws if a name is in a table twice.
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

/** Returns folders that have no row, and rows whose folder does not exist. */
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

/** Returns the imports that the tables do not allow. */
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

/** Returns the names that a row lists. */
function listed({ mayImport: names }: LayerRow): readonly string[] {
  return names === "everything" ? [] : [...names];
}

/** Returns the imports that the tables allow and that no file has. */
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

/** Returns the imports that the tables allow although they lead to no lower level. */
export function uphillAllowances(tables: readonly LayerTable[]): string[] {
  return tables.flatMap(({ parent, rows }) =>
    [...rows].flatMap(([from, row]) =>
      listed(row)
        .filter((to) => (rows.get(to)?.level ?? Infinity) >= row.level)
        .map((to) => `${parent}/${from} > ${to}`),
    ),
  );
}

/** Returns the cycles of files that import each other, directly or through other files. */
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

/** Returns every import from a folder or file of a layer table to another one of that table. */
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
 * Returns the row of a file: the child of `parent` that contains it, or the file itself if it has
 * its own row; undefined if the file is not below `parent`.
 */
function childOf({ parent, rows }: LayerTable, file: string): string | undefined {
  // `index.ts` exports from all levels of its folder, so no table has a row for it.
  if (!file.startsWith(`${parent}/`) || file === `${parent}/${DOOR}`) return undefined;
  const [child = "", ...rest] = file.slice(parent.length + 1).split("/");
  return rest.length === 0 && !rows.has(child) ? OWN_FILES : child;
}

/** Modules that open files, sockets or processes. */
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
  return specifiersOf(source)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(source.file), specifier));
}

function specifiersOf(source: SourceFile): string[] {
  return [...valueImportsOf(source, true), ...typeImportsOf(source)];
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
