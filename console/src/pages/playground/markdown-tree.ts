import MarkdownIt, { type Token } from "markdown-it";

/** A part of an answer: a text, or an element with one of the known tags. HTML stays text. */
export type MarkdownNode = string | MarkdownElement;

export interface MarkdownElement {
  readonly tag: MarkdownTag;
  readonly children: readonly MarkdownNode[];
  readonly href?: string;
  readonly level?: number;
  readonly start?: number;
  readonly language?: string;
}

const TAGS = [
  "p",
  "strong",
  "em",
  "s",
  "code",
  "ul",
  "ol",
  "li",
  "blockquote",
  "table",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
  "a",
] as const;
const KNOWN: ReadonlySet<string> = new Set(TAGS);
export type MarkdownTag = (typeof TAGS)[number] | "heading" | "hr" | "br" | "block";

const LINK = /^(?:https?:\/\/|mailto:)/i;
const reader = new MarkdownIt({ html: false, linkify: true, breaks: true });
// Links without a scheme stay text, because they are often file names.
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

export function markdownTree(answer: string): readonly MarkdownNode[] {
  return grown(reader.parse(answer, {}));
}

interface Open {
  readonly element: Omit<MarkdownElement, "children"> | undefined;
  readonly children: MarkdownNode[];
}

function grown(tokens: readonly Token[]): readonly MarkdownNode[] {
  const root: Open = { element: undefined, children: [] };
  const stack = [root];
  for (const token of tokens) {
    const top = stack.at(-1) ?? root;
    // The parser hides the paragraphs of a tight list: their content belongs to the item.
    if (token.hidden) continue;
    if (token.nesting === 1) {
      stack.push({ element: openElement(token), children: [] });
    } else if (token.nesting === -1) {
      if (stack.length > 1) stack.pop();
      const { element, children } = top;
      const closed = element === undefined ? children : [{ ...element, children }];
      (stack.at(-1) ?? root).children.push(...closed);
    } else {
      top.children.push(...leaf(token));
    }
  }
  return root.children;
}

/** Returns undefined for an unknown element, of which only the content is shown. */
function openElement(token: Token): Open["element"] {
  if (token.type === "heading_open") {
    return { tag: "heading", level: Number(token.tag.slice(1)) };
  }
  if (token.tag === "a") {
    const href = String(token.attrGet("href") ?? "");
    return LINK.test(href) ? { tag: "a", href } : undefined;
  }
  if (!KNOWN.has(token.tag)) return undefined;
  const start = token.tag === "ol" ? Number(token.attrGet("start") ?? 1) : 1;
  return { tag: token.tag as MarkdownTag, ...(start === 1 ? {} : { start }) };
}

function leaf(token: Token): readonly MarkdownNode[] {
  switch (token.type) {
    case "inline":
      return grown(token.children ?? []);
    case "fence":
    case "code_block": {
      const language = token.info.trim().split(/\s/)[0] ?? "";
      return [{ tag: "block", language, children: [token.content.replace(/\n$/, "")] }];
    }
    case "code_inline":
      return [{ tag: "code", children: [token.content] }];
    case "hr":
      return [{ tag: "hr", children: [] }];
    case "hardbreak":
    case "softbreak":
      return [{ tag: "br", children: [] }];
    case "image":
      return picture(token);
    default:
      return token.content === "" ? [] : [token.content];
  }
}

/** Makes a link instead of an image, which would reveal the reader's IP address to its host. */
function picture(token: Token): readonly MarkdownNode[] {
  const src = String(token.attrGet("src") ?? "");
  const name = `Image: ${token.content === "" ? src : token.content}`;
  return LINK.test(src) ? [{ tag: "a", href: src, children: [name] }] : [name];
}
