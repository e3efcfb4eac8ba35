import { Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import { IconButton } from "./call-figures.tsx";
import classes from "./playground.module.css";

export function KeptList<T extends { readonly id: string }>(props: {
  readonly records: readonly T[];
  readonly title: (record: T) => string;
  readonly detail: (record: T) => ReactNode;
  readonly noun: string;
  readonly openId?: string;
  readonly onOpen: (record: T) => void;
  readonly onForget: (id: string) => void;
}) {
  return (
    <Stack gap={4} component="ul" className={classes.plainList}>
      {props.records.map((record) => (
        <li key={record.id}>
          <Group gap="xs" wrap="nowrap" justify="space-between">
            <UnstyledButton
              className={classes.keptRow}
              onClick={() => props.onOpen(record)}
              aria-current={record.id === props.openId}
            >
              <Text size="sm" truncate>
                {props.title(record)}
              </Text>
              <Text size="xs" c="dimmed" component="div" truncate>
                {props.detail(record)}
              </Text>
            </UnstyledButton>
            <IconButton
              icon={Trash2}
              label={`Delete the ${props.noun} ${props.title(record)}`}
              onClick={() => props.onForget(record.id)}
            />
          </Group>
        </li>
      ))}
    </Stack>
  );
}
