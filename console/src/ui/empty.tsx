import { Stack, Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import { CodeBlock } from "./code-block.tsx";
import kit from "./kit.module.css";

export interface EmptyProps {
  /** One sentence that says which things would be listed here. */
  readonly title: string;
  /** One button or link. */
  readonly action?: ReactNode;
  /** One runnable call. */
  readonly code?: string | undefined;
}

/** Shown instead of a list that has no entries yet. */
export function Empty({ title, action, code }: EmptyProps): ReactElement {
  return (
    <Stack gap="md" align="center" className={kit.empty}>
      <Text c="dimmed" ta="center">
        {title}
      </Text>
      {action}
      {code === undefined ? null : <CodeBlock code={code} label="Example call" />}
    </Stack>
  );
}
