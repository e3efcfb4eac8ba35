import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { plainUsd } from "./read-cap.ts";

/**
 * The field of a monthly cap that may have a value already. It starts empty, so that a user who
 * changes something else never rewrites the cap by accident.
 */
export function CapField(props: {
  readonly label?: string;
  /** The cap that holds now; null: none. */
  readonly currentUsd: string | null;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { currentUsd } = props;
  return (
    <TextInput
      label={props.label ?? "Monthly cap in dollars"}
      description={
        currentUsd === null
          ? "There is no cap now. Leave blank to keep it so. A cap applies to the UTC calendar month."
          : "Leave blank to keep the cap; 0 removes it. It applies to the UTC calendar month."
      }
      placeholder={currentUsd === null ? "no cap" : plainUsd(currentUsd)}
      inputMode="decimal"
      autoComplete="off"
      maxLength={20}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      error={props.error}
    />
  );
}
