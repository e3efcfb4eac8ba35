import type { ReactNode } from "react";

import { CopyIcon } from "./copyable.tsx";
import kit from "./kit.module.css";

/** Code with a copy button. Long lines scroll, also with the keyboard. */
export function CodeBlock(props: { readonly code: string; readonly label: string }) {
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

/** Matches the pieces of code that get a color. A wrong match changes only the color. */
const PARTS =
  /(?<comment>(?<=^|\s)(?:#|\/\/)\s[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|(?<word>\b(?:import|from|const|let|await|async|for|of|in|if|else|return|with|as|open|print|new|export|curl|true|false|null|None|True|False)\b)|(?<name>\$[A-Z_]+|(?<=\s)--?[a-zA-Z][\w-]*)|(?<number>(?<![\w.:/-])\d[\d_.]*\b)/gm;

const CLASSES: Readonly<Record<string, string | undefined>> = {
  comment: kit.codeComment,
  string: kit.codeString,
  word: kit.codeWord,
  name: kit.codeName,
  number: kit.codeNumber,
};

function highlighted(code: string) {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of code.matchAll(PARTS)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0];
    parts.push(
      code.slice(end, match.index),
      <span key={match.index} className={CLASSES[kind ?? ""]}>
        {match[0]}
      </span>,
    );
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}
