import { Text, type TextProps } from "@mantine/core";
import type { ComponentProps } from "react";

/** A dimmed text that explains the content next to it. */
export function Note(props: TextProps & Omit<ComponentProps<"p">, keyof TextProps>) {
  return <Text size="sm" c="dimmed" {...props} />;
}
