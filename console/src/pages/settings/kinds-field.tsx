import { Checkbox, Stack, Switch } from "@mantine/core";
import type { ReactNode } from "react";

import type { Alerts } from "../../../../src/account/console-api/contract.ts";

/** Chosen kinds of events. Null means all kinds, including those that are added in the future. */
export type ChosenKinds = readonly string[] | null;

export function KindsField(props: {
  readonly kinds: Alerts["kinds"];
  readonly value: ChosenKinds;
  readonly onChange: (value: ChosenKinds) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { kinds, value, onChange } = props;
  return (
    <Stack gap="sm">
      <Switch
        label="All events, including ones added later"
        checked={value === null}
        onChange={(event) =>
          onChange(event.currentTarget.checked ? null : kinds.map(({ kind }) => kind))
        }
      />
      {value === null ? null : (
        <Checkbox.Group
          label="Events"
          value={[...value]}
          onChange={onChange}
          error={props.error ?? (value.length === 0 ? "Choose at least one event." : undefined)}
        >
          <Stack gap="xs" mt="xs">
            {kinds.map(({ kind, label }) => (
              <Checkbox key={kind} value={kind} label={label} description={kind} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}
