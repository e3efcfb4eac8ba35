import { memo, type ReactElement } from "react";

import { CodeBlock } from "../../ui/code-block.tsx";
import classes from "./playground.module.css";
import { textBlocks } from "./text-blocks.ts";

/**
 * What a model wrote: text as text, fenced code separately with a copy button, and nothing else.
 */
export const ModelText = memo(function ModelText({
  text,
}: {
  readonly text: string;
}): ReactElement {
  return (
    <>
      {textBlocks(text).map((block, at) =>
        block.kind === "text" ? (
          <p key={at} className={classes.prose}>
            {block.text}
          </p>
        ) : (
          <CodeBlock
            key={at}
            code={block.text}
            label={block.language === "" ? "Code" : `${block.language} code`}
          />
        ),
      )}
    </>
  );
});
