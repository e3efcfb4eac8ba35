import { lazy, memo, Suspense, type ReactElement } from "react";

import { CodeBlock } from "../../ui/code-block.tsx";
import classes from "./playground.module.css";

/** The Markdown parser is larger than the playground around it: it is loaded with the first answer. */
const MarkdownText = lazy(() => import("./markdown-text.tsx"));

/** Beyond it an answer is shown as it was written: a page stays quick whatever a model sends. */
const MARKDOWN_CHARS_MAX = 200_000;

/** A model's answer as Markdown. Markup in it is text, and nothing in it is loaded from anywhere. */
export const ModelText = memo(function ModelText(props: {
  readonly text: string;
}): ReactElement | null {
  const { text } = props;
  if (text === "") return null;
  const written = <p className={classes.prose}>{text}</p>;
  if (text.length > MARKDOWN_CHARS_MAX) return written;
  const json = findJson(text);
  if (json !== undefined) return <CodeBlock code={json} label="JSON answer" />;
  return (
    <Suspense fallback={written}>
      <MarkdownText text={text} />
    </Suspense>
  );
});

/** The answer when it is one JSON object or list, digit by digit as it came; else undefined. */
function findJson(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^[{[][^]*[}\]]$/.test(trimmed)) return undefined;
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch {
    return undefined;
  }
}
