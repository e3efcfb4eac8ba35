import { ActionIcon, CopyButton } from "@mantine/core";
import { Check, Copy } from "lucide-react";

import kit from "./kit.module.css";
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

export function CopyIcon(props: { readonly value: string; readonly label: string }) {
  return (
    <CopyButton value={props.value} timeout={1500}>
      {({ copied, copy }) => (
        <Tip label={copied ? "Copied" : `Copy ${props.label}`}>
          <ActionIcon
            size={24}
            variant="subtle"
            color="gray"
            aria-label={copied ? `Copied ${props.label}` : `Copy ${props.label}`}
            onClick={copy}
          >
            {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
          </ActionIcon>
        </Tip>
      )}
    </CopyButton>
  );
}
