import type { ReactElement } from "react";

import chart from "./charts/charts.module.css";
import { toColour, familyColour } from "./charts/part-paint.ts";
import kit from "./kit.module.css";

/**
 * The mark of a model's maker or of a provider: its letter in the hue that its models have in charts.
 * Logos belong to others, so there are none.
 */
export function Monogram(props: { readonly of: string; readonly name: string }): ReactElement {
  const paint = { "--mark": toColour({ colour: familyColour(props.of), mark: 0 }) };
  return (
    <span
      className={`${chart.palette} ${kit.monogram}`}
      style={paint as object}
      // Drawn by the style, so that no copied row has it.
      data-letter={props.name.slice(0, 1).toUpperCase()}
      aria-hidden
    />
  );
}
