import { Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import kit from "./kit.module.css";
import { Monogram } from "./monogram.tsx";

/** A model or a provider in every list: its mark, its name, and one line of what it is. */
export function NameLine(props: {
  /** The id, which has the hue of its maker. */
  readonly of: string;
  readonly name: string;
  /** The name as a link, where it leads somewhere. */
  readonly link?: ReactNode;
  /** Beside the name: what is out of the ordinary. */
  readonly badges?: ReactNode;
  readonly note?: ReactNode;
}): ReactElement {
  const { of, name, link, badges, note } = props;
  return (
    <div className={kit.nameLine}>
      <Monogram of={of} name={name} />
      <div className={kit.nameText}>
        <div className={kit.nameTitle}>
          {link ?? (
            <Text component="span" size="sm" fw={500}>
              {name}
            </Text>
          )}
          {badges}
        </div>
        {note === undefined ? null : <div className={kit.nameNote}>{note}</div>}
      </div>
    </div>
  );
}
