import { Button, CopyButton, Group, Modal, Stack, Text } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import { useState, type ReactElement, type ReactNode } from "react";

import kit from "./kit.module.css";

export interface SecretOnceProps {
  readonly opened: boolean;
  readonly title: string;
  readonly secret: string;
  readonly note?: ReactNode;
  /** The reader has it; the caller forgets the secret now. */
  readonly onSaved: () => void;
}

/** Shows a secret that cannot be shown again; it closes only for somebody who has it. */
export function SecretOnce(props: SecretOnceProps): ReactElement {
  const [isCopied, setCopied] = useState(false);
  function close(): void {
    setCopied(false);
    props.onSaved();
  }
  return (
    <Modal
      opened={props.opened}
      onClose={close}
      title={props.title}
      size="lg"
      withCloseButton={false}
      closeOnEscape={isCopied}
      closeOnClickOutside={isCopied}
    >
      <Stack gap="md">
        <SecretField secret={props.secret} onCopied={() => setCopied(true)} />
        <Text size="sm" component="div">
          {props.note ?? "This is the only time it is shown. It cannot be recovered."}
        </Text>
        <Group justify="flex-end">
          <Button variant={isCopied ? "filled" : "default"} onClick={close}>
            I saved it
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The secret itself with a large copy button. */
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
