import { Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import styles from "./models.module.css";

export interface FactListProps {
  readonly facts: readonly { readonly label: string; readonly value: ReactNode }[];
}

export function FactList({ facts }: FactListProps): ReactElement {
  return (
    <dl className={styles.facts}>
      {facts.map(({ label, value }) => (
        <div key={label}>
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <Text component="dd" fw={500} className={styles.cardFact}>
            {value}
          </Text>
        </div>
      ))}
    </dl>
  );
}
