import {
  nodesOf,
  placeOf,
  textOf,
  type Rule,
  type SourceFile,
  type SyntaxNode,
} from "./source-files.ts";

export const FILE_LINES_MAX = 400;
export const FUNCTION_LINES_MAX = 70;
export const PARAMETERS_MAX = 4;
export const LINE_CHARS_MAX = 100;

export const filesAreShort: Rule = (files) =>
  files
    .filter(({ text }) => text.replace(/\n$/, "").split("\n").length > FILE_LINES_MAX)
    .map(({ file }) => file);

export const functionsFitOnAScreen: Rule = (files) =>
  functionsWith(files, ({ lines }) => lines > FUNCTION_LINES_MAX);

export const functionsTakeFewParameters: Rule = (files) =>
  functionsWith(files, ({ parameters }) => parameters > PARAMETERS_MAX);

/** Lines of text and of links are left to their authors: breaking a message makes it unfindable. */
export const linesOfCodeAreShort: Rule = (files) =>
  files.flatMap((source) =>
    source.text
      .split("\n")
      .flatMap((line, at) =>
        line.length > LINE_CHARS_MAX && !/["`/]/.test(line) ? [`${source.file}:${at + 1}`] : [],
      ),
  );

function functionsWith(
  files: readonly SourceFile[],
  matches: (shape: FunctionShape) => boolean,
): string[] {
  return files.flatMap((source) =>
    shapesOf(source)
      .filter(matches)
      .map(({ place }) => place),
  );
}

interface FunctionShape {
  readonly place: string;
  readonly lines: number;
  readonly parameters: number;
}

const shapes = new WeakMap<SourceFile, FunctionShape[]>();
function shapesOf(source: SourceFile): FunctionShape[] {
  const known = shapes.get(source);
  if (known !== undefined) return known;
  const found = nodesOf(source)
    .filter(({ type }) => /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(type))
    .map((node) => ({
      place: placeOf(source, node.start),
      lines: textOf(source, node).split("\n").length,
      parameters: parametersOf(node),
    }));
  shapes.set(source, found);
  return found;
}

/** A variadic parameter is an element of the same list. */
function parametersOf({ params }: SyntaxNode): number {
  return Array.isArray(params) ? params.length : 0;
}
