import { Button, Group, Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { controlled } from "../../../ui/controlled.ts";
import shared from "../playground.module.css";

export function EditForm(props: {
  readonly label: string;
  readonly text: string;
  readonly doing: string;
  readonly isBusy: boolean;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}): ReactElement {
  const [text, setText] = useState(props.text);
  return (
    <form
      className={shared.grow}
      onSubmit={(event) => {
        event.preventDefault();
        props.onClose();
        props.onText(text);
      }}
    >
      <Textarea
        aria-label={props.label}
        {...controlled(text, setText)}
        autosize
        minRows={2}
        maxRows={16}
        autoFocus
      />
      <Group gap="xs" mt="xs" justify="flex-end">
        <Button size="xs" variant="default" onClick={props.onClose}>
          Cancel
        </Button>
        <Button size="xs" type="submit" disabled={text.trim() === "" || props.isBusy}>
          {props.doing}
        </Button>
      </Group>
    </form>
  );
}
