import { Group, Stack } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { CodeTabs } from "../ui/code-tabs.tsx";
import { FilterChips } from "../ui/filter-chips.tsx";
import { AppLink } from "../ui/app-link.tsx";
import { KEY_HINT, type Snippet, type SnippetWire } from "./chat-snippets.ts";
import { Note } from "../ui/page.tsx";

export interface CallSnippetsProps {
  readonly of: (wire: SnippetWire, isStream: boolean) => readonly Snippet[];
  /** If true, the reader can also choose a streamed call. */
  readonly hasStream?: boolean;
  /** Hides the choices of the interface and of a streamed call. */
  readonly hasOneRoute?: boolean;
  readonly note?: ReactNode;
}

export function CallSnippets(props: CallSnippetsProps) {
  const { of, hasOneRoute = false, hasStream = false, note } = props;
  const [wire, setWire] = useState<SnippetWire>("chat");
  const [answer, setAnswer] = useState<(typeof ANSWERS)[number]["value"]>("whole");
  return (
    <Stack gap="sm">
      {hasOneRoute ? null : (
        <Group gap="lg">
          <FilterChips label="Interface" options={WIRES} value={wire} onChange={setWire} />
          {hasStream ? (
            <FilterChips label="Answer" options={ANSWERS} value={answer} onChange={setAnswer} />
          ) : null}
        </Group>
      )}
      <CodeTabs key={wire} tabs={of(wire, answer === "stream")} />
      {note === undefined ? null : <Note>{note}</Note>}
    </Stack>
  );
}

/** The note below code that reads the key from the environment. */
export const KEY_NOTE = (
  <>
    {KEY_HINT} <AppLink to="/keys">Create a key</AppLink>
  </>
);

const ANSWERS = [
  { value: "whole", label: "Whole answer" },
  { value: "stream", label: "Stream" },
] as const;
const WIRES = [
  { value: "chat", label: "Chat completions" },
  { value: "messages", label: "Messages" },
] as const;
