export type TextBlock =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly language: string; readonly text: string };

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/;

/**
 * Parts an answer into text and fenced code. Nothing else of it is interpreted: what a model writes
 * is shown as text, never as markup. A fence that is not closed yet holds what has come so far.
 */
export function textBlocks(answer: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  let lines: string[] = [];
  let open: { readonly fence: string; readonly language: string } | undefined;
  const end = (): void => {
    const text = lines.join("\n");
    lines = [];
    if (open !== undefined) blocks.push({ kind: "code", language: open.language, text });
    else if (text.trim() !== "")
      blocks.push({ kind: "text", text: text.replace(/^\n+|\n+$/g, "") });
  };
  for (const line of answer.split("\n")) {
    const [, fence, info = ""] = FENCE.exec(line) ?? [];
    if (open === undefined && fence !== undefined) {
      end();
      open = { fence, language: info.trim().split(/\s/)[0] ?? "" };
    } else if (open !== undefined && closes(line, open.fence)) {
      end();
      open = undefined;
    } else {
      lines.push(line);
    }
  }
  end();
  return blocks;
}

function closes(line: string, fence: string): boolean {
  const trimmed = line.trim();
  return trimmed.startsWith(fence) && trimmed.replaceAll(fence.charAt(0), "") === "";
}
