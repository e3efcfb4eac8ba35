import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent, type ReactElement, type ReactNode } from "react";

import { Dialog } from "./dialog.tsx";
import { controlled } from "./controlled.ts";
import { Fault } from "./fault.tsx";

export interface ConfirmNameProps {
  readonly opened: boolean;
  readonly title: string;
  readonly name: string;
  readonly confirmLabel: string;
  /** If this rejects, the dialog stays open and shows the error. */
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
  /** Says what the action does, and when it takes effect. */
  readonly children: ReactNode;
}

/** Makes the reader type a name before an action that cannot be undone. */
export function ConfirmName(props: ConfirmNameProps): ReactElement {
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={props.title}>
      <ConfirmForm {...props} />
    </Dialog>
  );
}

/** A separate component, so that closing the dialog forgets the typed text. */
function ConfirmForm(props: ConfirmNameProps): ReactElement {
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>();
  const isSame = typed.trim() === props.name.trim();

  async function confirm(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (!isSame || isBusy) return;
    setBusy(true);
    setFault(undefined);
    try {
      await props.onConfirm();
    } catch (error) {
      setFault(error);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void confirm(event)}>
      <Stack gap="md">
        <Text component="div" size="sm">
          {props.children}
        </Text>
        <TextInput
          label={
            <>
              Type <strong>{props.name}</strong> to confirm
            </>
          }
          {...controlled(typed, setTyped)}
          spellCheck={false}
          data-autofocus
        />
        {fault === undefined ? null : <Fault error={fault} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red.9" loading={isBusy} disabled={!isSame}>
            {props.confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
