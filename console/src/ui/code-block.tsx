import type { ReactElement } from "react";

import { CopyIcon } from "./copyable.tsx";
import { highlighted } from "./highlighted.tsx";
import kit from "./kit.module.css";

/** Code with a copy button. Long lines scroll, also with the keyboard. */
export function CodeBlock(props: { readonly code: string; readonly label: string }): ReactElement {
  return (
    <div className={kit.codeBlock}>
      <div className={kit.codeCopy}>
        <CopyIcon value={props.code} label="code" />
      </div>
      <pre className={kit.code} tabIndex={0} role="group" aria-label={props.label}>
        <code>{highlighted(props.code)}</code>
      </pre>
    </div>
  );
}
