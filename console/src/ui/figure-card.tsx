import { Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";

import kit from "./kit.module.css";
import { computeChange } from "./change-text.ts";
import type { Amount, Unit } from "./charts/measure.ts";
import { Note } from "./page.tsx";

interface FigureCardProps {
  readonly label: string;
  readonly value: ReactNode;
  /** The change since an earlier figure, next to the label. */
  readonly change?: ReactNode;
  readonly hint?: ReactNode;
}

export function FigureCard({ label, value, change, hint }: FigureCardProps) {
  return (
    <Paper withBorder className={kit.figureCard}>
      <div className={kit.figureHead}>
        <Note truncate title={label}>
          {label}
        </Note>
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

interface ChangeMarkProps {
  readonly unit: Unit;
  readonly now: Amount;
  readonly before: Amount | undefined;
  /** Names the earlier time range at the end of a sentence, such as `"in the 24 hours before"`. */
  readonly than: string;
}

/** Shows how much a figure has changed. Renders nothing if there is no earlier figure. */
export function ChangeMark({ unit, now, before, than }: ChangeMarkProps) {
  const change = computeChange(unit, now, before);
  if (change === undefined) return null;
  const words = `${change.words} ${than}`;
  return (
    <span className={kit.change} title={words}>
      <span aria-hidden>{`${ARROWS[change.direction]}${change.amount}`}</span>
      <span className={kit.hidden}>{words}</span>
    </span>
  );
}

/** The arrows have no color, because an increase can be good or bad. */
const ARROWS = { up: "↑ ", down: "↓ ", same: "± " } as const;
