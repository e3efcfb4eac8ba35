import { Stack, Text } from "@mantine/core";
import { useState, type ReactElement, type ReactNode } from "react";

import { CodeTabs } from "../ui/code-tabs.tsx";
import { FilterChips } from "../ui/filter-chips.tsx";
import type { Snippet, SnippetWire } from "./chat-snippets.ts";

export interface CallSnippetsProps {
  readonly of: (wire: SnippetWire) => readonly Snippet[];
  /** The model answers on one route only. */
  readonly hasOneRoute?: boolean;
  readonly note?: ReactNode;
}

/** A call as a program makes it: curl, Python, and TypeScript, on either interface. */
export function CallSnippets({ of, hasOneRoute = false, note }: CallSnippetsProps): ReactElement {
  const [wire, setWire] = useState<SnippetWire>("chat");
  return (
    <Stack gap="sm">
      {hasOneRoute ? null : (
        <FilterChips label="Interface" options={WIRES} value={wire} onChange={setWire} />
      )}
      <CodeTabs key={wire} tabs={of(wire)} />
      {note === undefined ? null : (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
    </Stack>
  );
}

const WIRES = [
  { value: "chat", label: "Chat completions" },
  { value: "messages", label: "Messages" },
] as const;
