import { Group, Paper, Title } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

import kit from "../../ui/kit.module.css";

/** A step of the welcome page, with a mark when it is done. */
export function Step(props: {
  /** The element's id, for scrolling to it. */
  readonly id?: string;
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Paper component="section" id={props.id} tabIndex={-1} withBorder className={kit.panel}>
      <Group gap="sm" mb="sm" wrap="nowrap">
        {props.isDone ? (
          <CircleCheck size={26} color="var(--tm-ok)" aria-hidden />
        ) : (
          <span className={kit.stepNumber} aria-hidden>
            {props.number}
          </span>
        )}
        <Title order={2} size="h4">
          <span className={kit.hidden}>Step {props.number}: </span>
          {props.title}
          {props.isDone ? <span className={kit.hidden}> (done)</span> : null}
        </Title>
      </Group>
      {props.children}
    </Paper>
  );
}
