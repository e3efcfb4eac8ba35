import type { ReactElement } from "react";

import { computeChange } from "./change-text.ts";
import type { Amount, Unit } from "./charts/measure.ts";
import kit from "./kit.module.css";

export interface ChangeMarkProps {
  readonly unit: Unit;
  readonly now: Amount;
  readonly before: Amount | undefined;
  /** The earlier time range, as a sentence ends: `"in the 24 hours before"`. */
  readonly than: string;
}

/** By how much a figure differs from an earlier one; nothing where there is none to compare with. */
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

/** Neither good nor bad: more may be either. */
const ARROWS = { up: "↑ ", down: "↓ ", same: "± " } as const;
