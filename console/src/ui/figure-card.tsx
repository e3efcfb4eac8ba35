import { Paper, Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import kit from "./kit.module.css";

export interface FigureCardProps {
  readonly label: string;
  readonly value: ReactNode;
  /** The change since an earlier figure. Next to the label, it does not make the value wrap. */
  readonly change?: ReactNode;
  readonly hint?: ReactNode;
}

export function FigureCard({ label, value, change, hint }: FigureCardProps): ReactElement {
  return (
    <Paper withBorder className={kit.figureCard}>
      <div className={kit.figureHead}>
        <Text size="sm" c="dimmed" truncate title={label}>
          {label}
        </Text>
        {change}
      </div>
      <Text component="div" className={kit.figureValue}>
        {value}
      </Text>
      <Text component="div" size="xs" c="dimmed" className={kit.figureHint}>
        {hint}
      </Text>
    </Paper>
  );
}
