import { lazy, memo, Suspense, type ReactElement } from "react";

import { CodeBlock } from "../../ui/code-block.tsx";
import classes from "./playground.module.css";

/** Loaded with the first answer, because the Markdown parser is larger than the playground. */
const MarkdownText = lazy(() => import("./markdown-text.tsx"));

/** Longer answers are shown as plain text, so that the page stays fast. */
const MARKDOWN_CHARS_MAX = 200_000;

/** A model's answer as Markdown. HTML in it stays text, and nothing is loaded from other sites. */
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

/** The unchanged answer if it is a single JSON object or list, else undefined. */
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
