import { Text } from "@mantine/core";

import type { Fact } from "../../ui/facts.tsx";
import styles from "./models.module.css";

export type SomeFacts = readonly (Fact | false | undefined)[];

export function FactList({ facts }: { readonly facts: SomeFacts }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter((fact) => fact !== false && fact !== undefined)
        .map(([label, value]) => (
          <div key={label}>
            <Text component="dt" size="sm" c="dimmed">
              {label}
            </Text>
            <Text component="dd" fw={500}>
              {value}
            </Text>
          </div>
        ))}
    </dl>
  );
}
