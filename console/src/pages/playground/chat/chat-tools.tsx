import { Button, Group } from "@mantine/core";
import { Bookmark, Code, History, MessageSquarePlus, SlidersHorizontal } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

import classes from "./chat.module.css";

export type ChatDialog = "code" | "history" | "presets";

export function ChatTools(props: {
  readonly isEmpty: boolean;
  readonly hasModel: boolean;
  readonly areSettingsOpen: boolean;
  readonly onSettings: (areOpen: boolean) => void;
  readonly onNew: () => void;
  readonly onDialog: (dialog: ChatDialog) => void;
}): ReactElement {
  const { areSettingsOpen, onDialog } = props;
  return (
    <div className={classes.tools}>
      <Group gap={6}>
        <Tool
          icon={<MessageSquarePlus size={14} aria-hidden />}
          label="New conversation"
          onClick={props.onNew}
          disabled={props.isEmpty}
        />
        <Tool
          icon={<History size={14} aria-hidden />}
          label="History"
          onClick={() => onDialog("history")}
        />
        <Tool
          icon={<Bookmark size={14} aria-hidden />}
          label="Presets"
          onClick={() => onDialog("presets")}
        />
        <Tool
          icon={<Code size={14} aria-hidden />}
          label="Get code"
          onClick={() => onDialog("code")}
          disabled={!props.hasModel}
        />
      </Group>
      <Button
        variant="default"
        size="xs"
        leftSection={<SlidersHorizontal size={14} aria-hidden />}
        aria-expanded={areSettingsOpen}
        onClick={() => props.onSettings(!areSettingsOpen)}
      >
        Models and parameters
      </Button>
    </div>
  );
}

/** A button that shows only its icon on phones; the label stays its accessible name. */
function Tool(props: {
  readonly icon: ReactNode;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
}): ReactElement {
  return (
    <Button
      variant="default"
      size="xs"
      aria-label={props.label}
      onClick={props.onClick}
      disabled={props.disabled ?? false}
    >
      {props.icon}
      <span className={classes.toolName}>{props.label}</span>
    </Button>
  );
}
