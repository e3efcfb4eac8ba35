import { Text, type TextProps } from "@mantine/core";
import type { ComponentProps } from "react";

import { formatCount } from "./format.ts";

/** A dimmed text that explains the content next to it. */
export function Note(props: TextProps & Omit<ComponentProps<"p">, keyof TextProps>) {
  return <Text size="sm" c="dimmed" {...props} />;
}

/** Below a list of at most `max` rows. If the list is full, says that older rows are left out. */
export function NewestNote(props: {
  readonly rows: readonly unknown[];
  readonly max: number;
  /** A sentence that says where the older rows are. */
  readonly older: string;
}) {
  if (props.rows.length < props.max) return null;
  return (
    <Note mt="xs">
      The newest {formatCount(props.max)} are listed. {props.older}
    </Note>
  );
}
