import { Group, List, Text } from "@mantine/core";
import { Circle, CircleCheck } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

import type { Overview } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import kit from "../../ui/kit.module.css";
import { Panel } from "../../ui/panel.tsx";

export function Checklist({ done }: { readonly done: Overview["done"] }): ReactElement {
  const count = Object.values(done).filter(Boolean).length;
  return (
    <Panel
      title="Get started"
      actions={
        <Text size="sm" c="dimmed">
          {count} of 3 done
        </Text>
      }
    >
      <List listStyleType="none" spacing="sm">
        <Task isDone={done.has_key}>
          <AppLink to="/keys">Create a key</AppLink>: programs send it with every request.
        </Task>
        <Task isDone={done.has_credit}>
          <AppLink to="/billing">Add credit</AppLink>: requests are paid from your balance, which
          starts at $0.00.
        </Task>
        <Task isDone={done.has_request}>
          <AppLink to="/playground">Try a model</AppLink> here, or{" "}
          <AppLink to="/welcome">make your first call</AppLink> from your own program.
        </Task>
      </List>
    </Panel>
  );
}

function Task(props: { readonly isDone: boolean; readonly children: ReactNode }): ReactElement {
  return (
    <List.Item>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        {props.isDone ? (
          <CircleCheck size={20} color="var(--tm-ok)" aria-hidden className={kit.mark} />
        ) : (
          <Circle size={20} color="var(--mantine-color-dimmed)" aria-hidden className={kit.mark} />
        )}
        <Text size="sm" {...(props.isDone ? { c: "dimmed" } : {})}>
          <span className={kit.hidden}>{props.isDone ? "Done: " : "To do: "}</span>
          {props.children}
        </Text>
      </Group>
    </List.Item>
  );
}
