import { Button, Group, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { Dialog } from "./dialog.tsx";
import kit from "./kit.module.css";
import { CopyTextButton } from "./buttons.tsx";

interface SecretOnceProps {
  readonly opened: boolean;
  readonly title: string;
  readonly secret: string;
  readonly note: ReactNode;
  /** Actions for which the reader needs the secret. */
  readonly children?: ReactNode;
  /** Called when the secret is saved. The caller must then forget it and set the focus. */
  readonly onSaved: () => void;
}

/** Shows a secret once. Until it is copied, Escape and outside clicks do not close the dialog. */
export function SecretOnce(props: SecretOnceProps) {
  const [isCopied, setCopied] = useState(false);
  function close(): void {
    setCopied(false);
    props.onSaved();
  }
  return (
    <Dialog
      opened={props.opened}
      onClose={close}
      title={props.title}
      size="xl"
      withCloseButton={false}
      closeOnEscape={isCopied}
      closeOnClickOutside={isCopied}
      // The focus was in the form that created the secret. That form is closing, so the focus
      // cannot return to it.
      returnFocus={false}
    >
      <Stack gap="md">
        <SecretField secret={props.secret} onCopied={() => setCopied(true)} />
        <Text size="sm" component="div">
          {props.note}
        </Text>
        {props.children}
        <Group justify="flex-end">
          <Button variant={isCopied ? "filled" : "default"} onClick={close}>
            I saved it
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

export function SecretField(props: { readonly secret: string; readonly onCopied?: () => void }) {
  return (
    <div className={kit.secret}>
      <code className={kit.secretText} data-secret>
        {props.secret}
      </code>
      <CopyTextButton
        value={props.secret}
        label="Copy"
        timeoutMs={2000}
        onCopied={props.onCopied}
      />
    </div>
  );
}
