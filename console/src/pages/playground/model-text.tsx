import { memo, type ReactElement, type ReactNode } from "react";

import { CodeBlock } from "../../ui/code-block.tsx";
import {
  MARKDOWN_CHARS_MAX,
  markdownTree,
  type MarkdownElement,
  type MarkdownNode,
} from "./markdown-tree.ts";
import classes from "./playground.module.css";

/**
 * What a model wrote: as Markdown, or as it came. Markup in it is text, and nothing in it is loaded
 * from anywhere.
 */
export const ModelText = memo(function ModelText(props: {
  readonly text: string;
  readonly isRaw?: boolean;
}): ReactElement | null {
  const { text, isRaw = false } = props;
  if (text === "") return null;
  if (isRaw || text.length > MARKDOWN_CHARS_MAX) return <p className={classes.prose}>{text}</p>;
  const json = jsonOf(text);
  if (json !== undefined) return <CodeBlock code={json} label="JSON answer" />;
  return <div className={classes.rich}>{drawn(markdownTree(text))}</div>;
});

function drawn(nodes: readonly MarkdownNode[]): readonly ReactNode[] {
  return nodes.map((node, at) =>
    typeof node === "string" ? node : <Drawn key={at} element={node} />,
  );
}

function Drawn({ element }: { readonly element: MarkdownElement }): ReactElement {
  const { tag, children } = element;
  if (tag === "block") {
    const { language = "" } = element;
    const label = language === "" ? "Code" : `${language} code`;
    return <CodeBlock code={textOf(children)} label={label} />;
  }
  if (tag === "heading") {
    // Not a heading of the page: it would break the outline that people navigate by.
    return (
      <p className={classes.heading} data-level={element.level}>
        {drawn(children)}
      </p>
    );
  }
  if (tag === "a") {
    return (
      <a href={element.href} target="_blank" rel="noopener noreferrer nofollow">
        {drawn(children)}
      </a>
    );
  }
  if (tag === "table") {
    return (
      <div className={classes.tableBox} tabIndex={0} role="group" aria-label="Table">
        <table>{drawn(children)}</table>
      </div>
    );
  }
  if (tag === "hr" || tag === "br") return tag === "hr" ? <hr /> : <br />;
  if (tag === "ol") return <ol start={element.start}>{drawn(children)}</ol>;
  const Tag = tag;
  return <Tag>{drawn(children)}</Tag>;
}

function textOf(nodes: readonly MarkdownNode[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : textOf(node.children))).join("");
}

/** The answer when it is one JSON object or list, digit by digit as it came; else undefined. */
function jsonOf(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^[{[][^]*[}\]]$/.test(trimmed)) return undefined;
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch {
    return undefined;
  }
}
