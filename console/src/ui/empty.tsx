import { Stack, Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import { CodeBlock } from "./code-block.tsx";
import kit from "./kit.module.css";

export interface EmptyProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly code?: string | undefined;
}

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
