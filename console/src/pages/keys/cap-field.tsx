import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { plainUsd } from "./read-cap.ts";

/**
 * The field of a monthly cap that may have a value already. It starts empty, so that a user who
 * changes something else never rewrites the cap by accident.
 */
export function CapField(props: {
  readonly label?: string;
  /** What of the calendar the cap follows. */
  readonly applies?: string;
  /** The cap that holds now; null: none. */
  readonly currentUsd: string | null;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { currentUsd, applies = "Caps apply to the calendar month in UTC." } = props;
  return (
    <TextInput
      label={props.label ?? "Monthly cap in dollars"}
      description={
        currentUsd === null
          ? `No cap is set. Leave blank for no cap. ${applies}`
          : `Leave blank to keep the current cap. 0 removes it. ${applies}`
      }
      placeholder={currentUsd === null ? "No cap" : plainUsd(currentUsd)}
      inputMode="decimal"
      autoComplete="off"
      maxLength={20}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      error={props.error}
    />
  );
}
