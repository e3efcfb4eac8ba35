import { Text, type AnchorProps } from "@mantine/core";
import type { ReactNode } from "react";

import { AppLink, type Target } from "./app-link.tsx";
import chart from "./charts/charts.module.css";
import { familyColour, toColour } from "./charts/part-paint.ts";
import kit from "./kit.module.css";

export function NameLine(props: {
  /** ID of the model or provider. It decides the color of the monogram. */
  readonly of: string;
  readonly name: string;
  readonly link?: Target & Pick<AnchorProps, "fw" | "className">;
  readonly badges?: ReactNode;
  readonly note?: ReactNode;
}) {
  const { of, name, link, badges, note } = props;
  return (
    <div className={kit.nameLine}>
      <Monogram of={of} name={name} />
      <div className={kit.nameText}>
        <div className={kit.nameTitle}>
          {link === undefined ? (
            <Text component="span" size="sm" fw={500}>
              {name}
            </Text>
          ) : (
            <AppLink {...link} size="sm">
              {name}
            </AppLink>
          )}
          {badges}
        </div>
        {note === undefined ? null : <div className={kit.nameNote}>{note}</div>}
      </div>
    </div>
  );
}

/**
 * The first letter of a model's or provider's name, in the color that charts prefer for the model's
 * maker or for the provider. Logos are not used, because they are trademarks.
 */
function Monogram(props: { readonly of: string; readonly name: string }) {
  const paint = { "--mark": toColour({ colour: familyColour(props.of), mark: 0 }) };
  return (
    <span
      className={`${chart.palette} ${kit.monogram}`}
      style={paint as object}
      // CSS draws the letter, so that it is not copied with the row.
      data-letter={props.name.slice(0, 1).toUpperCase()}
      aria-hidden
    />
  );
}
