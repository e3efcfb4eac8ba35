import type { ReactNode } from "react";

import { CodeBlock } from "../../ui/code-block.tsx";
import { markdownTree, type MarkdownElement, type MarkdownNode } from "./markdown-tree.ts";
import classes from "./playground.module.css";

export default function MarkdownText({ text }: { readonly text: string }) {
  return <div className={classes.rich}>{drawn(markdownTree(text))}</div>;
}

function drawn(nodes: readonly MarkdownNode[]): readonly ReactNode[] {
  return nodes.map((node, at) =>
    typeof node === "string" ? node : <Drawn key={at} element={node} />,
  );
}

function Drawn({ element }: { readonly element: MarkdownElement }) {
  const { tag, children } = element;
  if (tag === "block") {
    const { language = "" } = element;
    const label = language === "" ? "Code" : `${language} code`;
    return <CodeBlock code={toText(children)} label={label} />;
  }
  if (tag === "heading") {
    // An `h` element would break the page's outline for screen readers.
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

function toText(nodes: readonly MarkdownNode[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : toText(node.children))).join("");
}
