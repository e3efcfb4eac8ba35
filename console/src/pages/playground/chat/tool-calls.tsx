import { Button, Group, Text, Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { CodeBlock } from "../../../ui/code-block.tsx";
import classes from "./chat.module.css";
import type { ToolCall, ToolResult } from "./chat-types.ts";

export function ToolCalls(props: {
  readonly calls: readonly ToolCall[];
  /** Undefined if the calls have results already, or cannot get any now. */
  readonly onResults: ((results: readonly ToolResult[]) => void) | undefined;
}): ReactElement {
  const { calls, onResults } = props;
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      className={classes.calls}
      aria-label="Tool calls"
      onSubmit={(event) => {
        event.preventDefault();
        onResults?.(calls.map(({ id }) => ({ callId: id, content: typed[id] ?? "" })));
      }}
    >
      {calls.map(({ id, name, arguments: sent }) => (
        <div key={id}>
          <Text size="sm" fw={600}>
            Calls <code>{name}</code>
          </Text>
          <CodeBlock code={sent === "" ? "{}" : sent} label={`Arguments of ${name}`} />
          {onResults === undefined ? null : (
            <Textarea
              mt={6}
              label={`Result of ${name}`}
              placeholder="What the tool answers, as text or JSON"
              value={typed[id] ?? ""}
              onChange={(event) => setTyped({ ...typed, [id]: event.currentTarget.value })}
              autosize
              minRows={1}
              maxRows={8}
            />
          )}
        </div>
      ))}
      {onResults === undefined ? null : (
        <Group justify="flex-end">
          <Button size="xs" type="submit">
            Send results
          </Button>
        </Group>
      )}
    </form>
  );
}
