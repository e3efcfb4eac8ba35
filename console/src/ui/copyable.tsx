import { ActionIcon } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import { useState } from "react";

import kit from "./kit.module.css";
import { notifyProblem } from "./notice.ts";
import { Tip } from "./tip.tsx";

export interface CopyableProps {
  readonly value: string;
  readonly label?: string;
  /** If true, shows the first 12 of more than 14 characters; the button copies the whole value. */
  readonly short?: boolean;
}

export function Copyable({ value, label = "value", short = false }: CopyableProps) {
  const shown = short && value.length > 14 ? `${value.slice(0, 12)}…` : value;
  return (
    <span className={kit.copyable}>
      <code className={kit.id} title={value}>
        {shown}
      </code>
      <CopyIcon value={value} label={label} />
    </span>
  );
}

export function CopyIcon({ value, label }: { readonly value: string; readonly label: string }) {
  const { isCopied, copy } = useCopy();
  return (
    <Tip label={isCopied ? "Copied" : `Copy ${label}`}>
      <ActionIcon
        size={24}
        aria-label={isCopied ? `Copied ${label}` : `Copy ${label}`}
        onClick={() => void copy(value)}
      >
        {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      </ActionIcon>
    </Tip>
  );
}

const COPIED_MS = 1_500;

/** Copies a text. `isCopied` is true for a moment after it is in the clipboard. */
export function useCopy() {
  const [isCopied, setCopied] = useState(false);
  async function copy(text: string, onCopied?: () => void): Promise<void> {
    try {
      // On plain http, browsers have no clipboard.
      await globalThis.navigator.clipboard.writeText(text);
    } catch {
      const isShown = document.body.innerText.includes(text);
      notifyProblem(`Copying did not work.${isShown ? " Select the text and copy it." : ""}`);
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
    onCopied?.();
  }
  return { isCopied, copy };
}
