interface CodeTab {
  readonly label: string;
  readonly code: string;
}

/** A part of a guide. Only the Markdown that the guides use is parsed. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "code"; readonly tabs: readonly CodeTab[] };

/** The anchor of a heading, such as `base-urls` for `Base URLs`. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

const LABELS: Readonly<Record<string, string>> = { python: "Python", ts: "TypeScript" };

const FENCED = /^(```\w*\n[\s\S]*?^```)$/m;

/** Splits a guide before each heading of level 1 or 2. A comment in its code is not a heading. */
export function splitSections(markdown: string): readonly string[] {
  const parts = markdown
    .split(FENCED)
    .map((part) => (part.startsWith("```") ? part : part.replaceAll(/^(?=##? )/gm, "\0")));
  return parts.join("").split("\0");
}

/** Parses a guide. Consecutive code fences in different languages become one block. */
export function readBlocks(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  // Fenced code may contain empty lines; every other block ends at an empty line.
  for (const part of markdown.split(FENCED)) {
    const fence = /^```(\w*)\n([\s\S]*)```$/.exec(part);
    if (fence === null) blocks.push(...part.split(/\n{2,}/).flatMap(readBlock));
    else addCode(blocks, toTab(fence[1] ?? "", (fence[2] ?? "").trimEnd()));
  }
  return blocks;
}

function toTab(language: string, code: string): CodeTab {
  const shell = code.includes("curl") ? "curl" : "Shell";
  return { label: LABELS[language] ?? shell, code };
}

function addCode(blocks: Block[], tab: CodeTab): void {
  const last = blocks.at(-1);
  const goesOn = last?.kind === "code" && last.tabs.every(({ label }) => label !== tab.label);
  if (goesOn) blocks[blocks.length - 1] = { kind: "code", tabs: [...last.tabs, tab] };
  else blocks.push({ kind: "code", tabs: [tab] });
}

function readBlock(part: string): readonly Block[] {
  const text = part.trim();
  if (text === "") return [];
  const heading = /^(#+) (.*)$/.exec(text);
  if (heading !== null) {
    return [{ kind: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "" }];
  }
  if (text.startsWith("- ")) {
    const items = text.slice(2).split(/\n- /);
    return [{ kind: "list", items: items.map((item) => item.replaceAll(/\s*\n\s*/g, " ")) }];
  }
  if (text.startsWith("|")) {
    const [head = [], , ...rows] = text.split("\n").map(splitCells);
    return [{ kind: "table", head, rows }];
  }
  return [{ kind: "text", text: text.replaceAll("\n", " ") }];
}

function splitCells(line: string): readonly string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}
