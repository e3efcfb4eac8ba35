import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { controlled, submitting } from "./fields.ts";
import { inDialog, useSubmission, UnplacedFault } from "./form-dialog.tsx";

interface ConfirmNameProps {
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
export const ConfirmName = inDialog(({ title }) => title, ConfirmForm);

function ConfirmForm(props: ConfirmNameProps) {
  const [typed, setTyped] = useState("");
  const submission = useSubmission();
  const isSame = typed.trim() === props.name.trim();

  function confirm(): void {
    if (!isSame) return;
    submission.run(async () => {
      await props.onConfirm();
    });
  }

  return (
    <form {...submitting(confirm)}>
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
