import { ActionIcon, Text } from "@mantine/core";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import { Copyable } from "../../ui/copyable.tsx";
import { Money } from "../../ui/money.tsx";
import type { JsonAnswer } from "./gateway.ts";
import classes from "./playground.module.css";

/** The line below an answer: its provider, its cost, its request ID and further figures. */
export function CallFigures(props: {
  readonly call: Partial<Pick<JsonAnswer, "provider" | "costUsd" | "requestId">>;
  readonly hasOwnId?: boolean;
  readonly children: ReactNode;
}) {
  const { provider, costUsd, requestId } = props.call;
  return (
    <Text size="xs" c="dimmed" component="div" className={classes.answerFigures}>
      {provider === undefined ? null : <span>served by {provider}</span>}
      {props.children}
      {costUsd === undefined ? null : (
        <span>
          cost <Money usd={costUsd} />
        </span>
      )}
      {requestId === undefined || props.hasOwnId === true ? null : (
        <Copyable value={requestId} label="request ID" short />
      )}
    </Text>
  );
}

/** A button that shows only an icon. The label is its accessible name. */
export function IconButton(props: {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly size?: "sm" | "lg";
  readonly disabled?: boolean;
  readonly onClick: () => void;
}) {
  // `button` also has the `aria-describedby` that `Tip` adds.
  const { icon: Icon, label, ...button } = props;
  return (
    <ActionIcon aria-label={label} {...button}>
      <Icon size={props.size === "sm" ? 14 : 16} aria-hidden />
    </ActionIcon>
  );
}
