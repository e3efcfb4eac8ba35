import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { controlled } from "../../ui/controlled.ts";
import { plainUsd } from "./read-cap.ts";

/**
 * The field of a cap. It starts empty even if there is a cap, so that saving a change of other
 * fields never rewrites the cap.
 */
export function CapField(props: {
  readonly label?: string;
  readonly applies?: string;
  /** The current cap. Null: there is none. Undefined: the form changes several keys. */
  readonly currentUsd: string | null | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { currentUsd, applies = "Caps apply to the calendar month in UTC." } = props;
  return (
    <TextInput
      label={props.label ?? "Monthly cap in dollars"}
      description={`${blankHelp(currentUsd)} ${applies}`}
      placeholder={choosePlaceholder(currentUsd)}
      inputMode="decimal"
      maxLength={20}
      {...controlled(props.value, props.onChange)}
      error={props.error}
    />
  );
}

function blankHelp(currentUsd: string | null | undefined): string {
  if (currentUsd === undefined) return "Leave blank to keep the cap of each key. 0 removes it.";
  return currentUsd === null
    ? "Leave blank for no cap."
    : "Leave blank to keep the current cap. 0 removes it.";
}

function choosePlaceholder(currentUsd: string | null | undefined): string {
  if (currentUsd === undefined) return "Keep";
  return currentUsd === null ? "No cap" : plainUsd(currentUsd);
}
