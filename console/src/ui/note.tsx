import { Text, type TextProps } from "@mantine/core";
import type { ComponentProps } from "react";

import { formatCount } from "./format.ts";

/** A dimmed text that explains the content next to it. */
export function Note(props: TextProps & Omit<ComponentProps<"p">, keyof TextProps>) {
  return <Text size="sm" c="dimmed" {...props} />;
}

/** Below a list of at most `max` rows: says that older ones are left out, if it is that long. */
export function NewestNote(props: {
  readonly rows: readonly unknown[];
  readonly max: number;
  /** A sentence that says where the older ones are. */
  readonly older: string;
}) {
  if (props.rows.length < props.max) return null;
  return (
    <Note mt="xs">
      The newest {formatCount(props.max)} are listed. {props.older}
    </Note>
  );
}
