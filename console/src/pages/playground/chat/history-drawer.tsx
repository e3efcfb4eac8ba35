import { ActionIcon, Drawer, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { Trash2 } from "lucide-react";
import { useEffect, useState, type ReactElement } from "react";

import { Time } from "../../../ui/time.tsx";
import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { Conversation } from "./chat-types.ts";
import { conversations } from "./use-chat.ts";

/** The conversations of this browser. */
export default function HistoryDrawer(props: {
  readonly orgId: string;
  readonly openId: string;
  readonly onOpen: (conversation: Conversation) => void;
  readonly onForgotten: (id: string) => void;
  readonly onClose: () => void;
}): ReactElement {
  const { orgId } = props;
  const [kept, setKept] = useState<readonly Conversation[]>();
  useEffect(() => {
    void conversations.list(orgId).then(setKept);
  }, [orgId]);

  async function forget(id: string): Promise<void> {
    await conversations.forget(id);
    setKept((before) => before?.filter((each) => each.id !== id));
    props.onForgotten(id);
  }

  return (
    <Drawer
      opened
      onClose={props.onClose}
      position="right"
      title="Conversations in this browser"
      closeButtonProps={{ "aria-label": "Close conversations" }}
    >
      {kept?.length === 0 ? (
        <Text c="dimmed" size="sm">
          No conversations yet. The last 50 are kept in this browser only.
        </Text>
      ) : null}
      <Stack gap={4} component="ul" className={shared.plainList}>
        {kept?.map((each) => (
          <li key={each.id}>
            <Group gap="xs" wrap="nowrap" justify="space-between">
              <UnstyledButton
                className={classes.historyRow}
                onClick={() => props.onOpen(each)}
                aria-current={each.id === props.openId}
              >
                <Text size="sm" truncate>
                  {each.title}
                </Text>
                <Text size="xs" c="dimmed" component="div" truncate>
                  <Time at={new Date(each.updatedAtMs).toISOString()} /> ·{" "}
                  {each.settings.modelIds.join(", ")}
                </Text>
              </UnstyledButton>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Delete the conversation ${each.title}`}
                onClick={() => void forget(each.id)}
              >
                <Trash2 size={16} aria-hidden />
              </ActionIcon>
            </Group>
          </li>
        ))}
      </Stack>
    </Drawer>
  );
}
