import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { CodeBlock } from "./code-block.tsx";
import kit from "./kit.module.css";
import { LinkButton } from "./app-link.tsx";
import type { Crumb } from "./page.tsx";

export interface EmptyProps {
  readonly title: string;
  readonly action?: ReactNode;
  /** The page where the reader can continue. */
  readonly link?: Crumb;
  readonly code?: string | undefined;
}

export function Empty({ title, action, link, code }: EmptyProps) {
  return (
    <Stack gap="md" align="center" className={kit.empty}>
      <Text c="dimmed" ta="center">
        {title}
      </Text>
      {action}
      {link === undefined ? null : <LinkButton to={link.to}>{link.label}</LinkButton>}
      {code === undefined ? null : <CodeBlock code={code} label="Example call" />}
    </Stack>
  );
}
