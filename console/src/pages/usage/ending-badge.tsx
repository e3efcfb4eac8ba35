import { StatusBadge } from "../../ui/badge.tsx";
import type { Ending } from "./outcome-labels.ts";
import styles from "./ending-badge.module.css";

export function EndingBadge({ ending }: { readonly ending: Ending }) {
  const { tone, word, detail } = ending;
  return (
    <span className={styles.outcome}>
      <StatusBadge tone={tone}>{word}</StatusBadge>
      {detail === undefined ? null : <code className={styles.note}>{detail}</code>}
    </span>
  );
}
