import { Button, CopyButton } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import type { ReactElement } from "react";

import kit from "./kit.module.css";

export function SecretField(props: {
  readonly secret: string;
  readonly onCopied?: () => void;
}): ReactElement {
  return (
    <div className={kit.secret}>
      <code className={kit.secretText} data-secret>
        {props.secret}
      </code>
      <CopyButton value={props.secret} timeout={2000}>
        {({ copied, copy }) => (
          <Button
            variant="default"
            leftSection={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
            onClick={() => {
              copy();
              props.onCopied?.();
            }}
          >
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </div>
  );
}
