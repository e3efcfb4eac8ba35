import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";

import { controlled } from "./fields.ts";
import { inDialog, useSubmission, UnplacedFault } from "./form-dialog.tsx";
import { notifyDone } from "./notice.ts";

interface ConfirmProps {
  readonly name: string;
  readonly confirmLabel: string;
  /** If this rejects, the dialog stays open and shows the error. */
  readonly onConfirm: () => unknown;
  /** Said after the action, which then closes the dialog. Default: the caller does both. */
  readonly done?: string;
  readonly onClose: () => void;
  /** Says what the action does, and when it takes effect. */
  readonly children: ReactNode;
}

export const ConfirmName = inDialog<ConfirmProps & { readonly title: string }>(
  ({ title }) => title,
  ConfirmForm,
);

/** Makes the reader type a name before an action that cannot be undone. */
export function ConfirmForm(props: ConfirmProps) {
  const [typed, setTyped] = useState("");
  const submission = useSubmission();
  const isSame = typed.trim() === props.name.trim();

  function confirm(event: FormEvent): void {
    event.preventDefault();
    if (!isSame) return;
    submission.run(async () => {
      await props.onConfirm();
      if (props.done === undefined) return;
      notifyDone(props.done);
      props.onClose();
    });
  }

  return (
    <form onSubmit={confirm}>
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
        <UnplacedFault fault={submission.fault} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red.9" loading={submission.isBusy} disabled={!isSame}>
            {props.confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
