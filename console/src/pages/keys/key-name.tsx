import { Button, Group, Text, TextInput } from "@mantine/core";
import { Pencil } from "lucide-react";
import { useState, type KeyboardEvent, type ReactNode } from "react";

import type { Key } from "../../api/contract.ts";
import { useChange, useMay } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { controlled, fieldError, submitting } from "../../ui/fields.ts";
import { NAME_CHARS_MAX, nameProblem } from "./key-forms.ts";
import { useSubmission } from "../../ui/form-dialog.tsx";
import { SmallButton } from "../../ui/buttons.tsx";
import tables from "../../ui/table.module.css";

export function KeyName(props: { readonly named: Key; readonly isLink: boolean }) {
  const { named, isLink } = props;
  const [renaming, setRenaming] = useState<"not yet" | "now" | "done">("not yet");
  const mayRename = useMay("keys");
  if (renaming === "now") {
    return <RenameForm renamed={named} onClose={() => setRenaming("done")} />;
  }
  const isDisabled = named.disabled_at !== null;
  const text = (
    <Text
      span
      inherit
      fw={500}
      td={isDisabled ? "line-through" : undefined}
      style={{ overflowWrap: "break-word" }}
    >
      {named.name}
    </Text>
  );
  // A plain element instead of Mantine's, as in `RowButton`.
  return (
    <div className={tables.line}>
      {isLink ? (
        <AppLink to="/keys/$keyId" params={{ keyId: named.key_id }}>
          {text}
        </AppLink>
      ) : (
        text
      )}
      {mayRename && !isDisabled ? (
        <RowButton
          // Becomes true after the form has closed, so that the focus returns to this button.
          autoFocus={renaming === "done"}
          isQuiet
          label={`Rename ${named.name}`}
          onClick={() => setRenaming("now")}
        >
          <Pencil size={14} aria-hidden />
        </RowButton>
      ) : null}
    </div>
  );
}

function RenameForm(props: { readonly renamed: Key; readonly onClose: () => void }) {
  const { renamed, onClose } = props;
  const [name, setName] = useState(renamed.name);
  const [problem, setProblem] = useState<string>();
  const submission = useSubmission();
  const change = useChange("PATCH /api/console/keys/:key_id", [
    "GET /api/console/keys",
    "GET /api/console/keys/:key_id",
    "GET /api/console/limits",
  ]);
  const submit = (): void => {
    const found = nameProblem(name).name;
    setProblem(found);
    if (found !== undefined) return;
    if (name.trim() === renamed.name) return onClose();
    submission.run(async () => {
      await change.mutateAsync({ params: { key_id: renamed.key_id }, body: { name: name.trim() } });
      onClose();
    });
  };
  const leave = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
  };
  return (
    <form {...submitting(submit)} onKeyDown={leave} noValidate>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <TextInput
          aria-label={`New name of ${renamed.name}`}
          size="xs"
          miw={140}
          // The field gets the focus, because the reader has just opened it.
          autoFocus
          maxLength={NAME_CHARS_MAX}
          {...controlled(name, setName)}
          error={problem ?? fieldError(submission.fault, "name") ?? submission.fault?.message}
        />
        <Button type="submit" size="xs" loading={submission.isBusy}>
          Save
        </Button>
        <SmallButton onClick={onClose}>Cancel</SmallButton>
      </Group>
    </form>
  );
}

/**
 * A button with an icon. `label`, its accessible name, must name both the action and the row. It is
 * a plain element, because a table shows dozens of rows, and sorting redraws all of them.
 */
export function RowButton(props: {
  readonly label: string;
  readonly isQuiet?: boolean;
  readonly autoFocus?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      className={props.isQuiet === true ? `${tables.button} ${tables.quiet}` : tables.button}
      aria-label={props.label}
      autoFocus={props.autoFocus}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}
