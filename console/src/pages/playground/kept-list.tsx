import { ActionIcon, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import classes from "./playground.module.css";

export interface KeptRow {
  readonly id: string;
  readonly title: string;
  readonly detail: ReactNode;
}

export function KeptList(props: {
  readonly rows: readonly KeptRow[];
  readonly noun: string;
  readonly openId?: string;
  readonly onOpen: (id: string) => void;
  readonly onForget: (id: string) => void;
}) {
  return (
    <Stack gap={4} component="ul" className={classes.plainList}>
      {props.rows.map(({ id, title, detail }) => (
        <li key={id}>
          <Group gap="xs" wrap="nowrap" justify="space-between">
            <UnstyledButton
              className={classes.keptRow}
              onClick={() => props.onOpen(id)}
              aria-current={id === props.openId}
            >
              <Text size="sm" truncate>
                {title}
              </Text>
              <Text size="xs" c="dimmed" component="div" truncate>
                {detail}
              </Text>
            </UnstyledButton>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Delete the ${props.noun} ${title}`}
              onClick={() => props.onForget(id)}
            >
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
        </li>
      ))}
    </Stack>
  );
}
