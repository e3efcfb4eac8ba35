import { Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import { IconButton } from "../../ui/buttons.tsx";
import classes from "./playground.module.css";

export function KeptList(props: {
  readonly rows: readonly {
    readonly id: string;
    readonly title: string;
    readonly detail: ReactNode;
  }[];
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
            <IconButton
              icon={Trash2}
              label={`Delete the ${props.noun} ${title}`}
              onClick={() => props.onForget(id)}
            />
          </Group>
        </li>
      ))}
    </Stack>
  );
}
