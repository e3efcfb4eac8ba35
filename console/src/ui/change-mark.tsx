import type { ReactElement } from "react";

import { computeChange } from "./change-text.ts";
import type { Amount, Unit } from "./charts/measure.ts";
import kit from "./kit.module.css";

export interface ChangeMarkProps {
  readonly unit: Unit;
  readonly now: Amount;
  readonly before: Amount | undefined;
  /** Names the earlier time range at the end of a sentence, such as `"in the 24 hours before"`. */
  readonly than: string;
}

/** Shows how much a figure has changed. Renders nothing if there is no earlier figure. */
export function ChangeMark({ unit, now, before, than }: ChangeMarkProps): ReactElement | null {
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
