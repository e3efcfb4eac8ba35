import { Text, type TextProps } from "@mantine/core";
import type { ComponentProps } from "react";

/** A text that explains what stands next to it, and is quieter than that. */
export function Note(props: TextProps & Omit<ComponentProps<"p">, keyof TextProps>) {
  return <Text size="sm" c="dimmed" {...props} />;
}
