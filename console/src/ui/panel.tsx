import { Group, Paper, Title } from "@mantine/core";
import { useId, type ReactNode } from "react";

import kit from "./kit.module.css";

export interface PanelProps {
  readonly id?: string;
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function Panel({ id: place, title, actions, children }: PanelProps) {
  const id = useId();
  return (
    <Paper
      component="section"
      id={place}
      withBorder
      className={kit.panel}
      {...(title === undefined ? {} : { "aria-labelledby": id })}
    >
      {title === undefined && actions === undefined ? null : (
        <Group justify="space-between" gap="xs" mb="md">
          {title === undefined ? null : (
            <Title order={2} size="h4" id={id}>
              {title}
            </Title>
          )}
          {actions}
        </Group>
      )}
      {children}
    </Paper>
  );
}
