import { Button, Group, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useBlocker } from "@tanstack/react-router";

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
  const { secret, onSaved } = props;
  const [copied, setCopied] = useState<string>();
  const isCopied = copied === secret;
  return (
    <Dialog
      opened={props.opened}
      onClose={onSaved}
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
        <LeaveGuard isUnsaved={props.opened && !isCopied} title="Have you saved it?">
          It is shown only here, and only once. If you leave this page, it cannot be shown again.
        </LeaveGuard>
        <SecretField key={secret} secret={secret} onCopied={() => setCopied(secret)} />
        <Text size="sm" component="div">
          {props.note}
        </Text>
        {props.children}
        <Group justify="flex-end">
          <Button variant={isCopied ? "filled" : "default"} onClick={onSaved}>
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
      <CopyTextButton value={props.secret} label="Copy" onCopied={props.onCopied} />
    </div>
  );
}

/** Asks before the reader leaves the page without the secret. */
export function LeaveGuard(props: {
  readonly isUnsaved: boolean;
  /** True at the checkout, which leads back to the page. */
  readonly isAway?: () => boolean;
  readonly title: string;
  readonly children: string;
}) {
  const { isUnsaved, isAway, title, children } = props;
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isUnsaved && next.pathname !== current.pathname,
    enableBeforeUnload: () => isUnsaved && isAway?.() !== true,
    withResolver: true,
  });
  const isBlocked = status === "blocked";
  return (
    <Dialog opened={isBlocked} onClose={() => reset?.()} title={title}>
      <Stack gap="md">
        <Text size="sm">{children}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => proceed?.()}>
            Leave
          </Button>
          <Button data-autofocus onClick={() => reset?.()}>
            Stay and save it
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
