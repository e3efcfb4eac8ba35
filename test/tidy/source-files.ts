import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import { parseSync, type ParseResult } from "oxc-parser";

export interface SourceFile {
  /** Path from the root of the repository, such as `src/kernel/core/money.ts`. */
  readonly file: string;
  readonly text: string;
}

/** Returns the violations in some files, a line each, such as `src/kernel/core/money.ts:12`. */
export type Rule = (files: readonly SourceFile[]) => string[];

const ROOT = resolve(import.meta.dirname, "../..");

export function readSourceFile(file: string): SourceFile {
  return { file, text: readFileSync(join(ROOT, file), "utf8") };
}

export function readSourceFiles(...folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
        // Other gateways are installed there, to be measured beside this one.
        .filter((file) => !file.startsWith("test/peer/packages/")),
    )
    .map(readSourceFile);
}

/** True for a file of the program, not of its tests. Most rules are about such files. */
export function isProduct({ file }: SourceFile): boolean {
  return file.startsWith("src/") && !isTest({ file });
}

export function isTest({ file }: Pick<SourceFile, "file">): boolean {
  return file.endsWith(".test.ts");
}

/** Returns the wing that a path is in, which is its row in the layer table. */
export function wingOf(file: string): string {
  return file.split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

const WINGS_OF_ROOMS = new Set(["kernel", "formats", "gateway", "account", "listing-tools"]);

/** Returns a path's folder in its wing, such as `storage` of the kernel, or else its wing. */
export function roomOf(file: string): string {
  const [, wing = "", room = ""] = file.split("/");
  const isRoom = WINGS_OF_ROOMS.has(wing) || ["pricing", "backup"].includes(room);
  return isRoom && !room.endsWith(".ts") ? room : wingOf(file);
}

const parsed = new WeakMap<SourceFile, ParseResult>();
export function parse(source: SourceFile): ParseResult {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  const result = parseSync(source.file, source.text);
  // Without this, a rule would find nothing wrong in a file that it cannot read.
  if (result.errors.length > 0) throw new Error(`${source.file}: ${result.errors[0]?.message}`);
  parsed.set(source, result);
  return result;
}

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

export function nodesOf(source: SourceFile): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  collect(parse(source).program, found);
  return found;
}

function collect(value: unknown, found: SyntaxNode[]): void {
  if (Array.isArray(value)) {
    for (const each of value) collect(each, found);
    return;
  }
  if (!isNode(value)) return;
  found.push(value);
  for (const inner of Object.values(value)) collect(inner, found);
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** Returns the places of matching nodes. Only files that match `hint` are parsed: it takes long. */
export function nodesWith(
  source: SourceFile,
  hint: RegExp,
  matches: (node: SyntaxNode) => boolean,
): string[] {
  if (!hint.test(source.text)) return [];
  return nodesOf(source)
    .filter(matches)
    .map((node) => placeOf(source, node.start));
}

export function placeOf(source: SourceFile, offset: number): string {
  return `${source.file}:${source.text.slice(0, offset).split("\n").length}`;
}

export function textOf(source: SourceFile, node: SyntaxNode): string {
  return source.text.slice(node.start, node.end);
}

/** Returns the lines on which code matches; comments do not count. */
export function codeLinesWith(source: SourceFile, pattern: RegExp): string[] {
  if (!pattern.test(source.text)) return [];
  return withoutComments(source)
    .split("\n")
    .flatMap((line, at) => (pattern.test(line) ? [`${source.file}:${at + 1}`] : []));
}

function withoutComments(source: SourceFile): string {
  let text = source.text;
  for (const { start, end } of parse(source).comments) {
    const blank = text.slice(start, end).replace(/[^\n]/g, " ");
    text = text.slice(0, start) + blank + text.slice(end);
  }
  return text;
}
