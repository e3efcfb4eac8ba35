import { NativeSelect, Stack, TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { controlled } from "../../ui/controlled.ts";
import { showUtc } from "../../ui/time.tsx";
import type { ExpiryChoice, TypedExpiry } from "./expiry-choice.ts";

const PERIODS: readonly { readonly value: ExpiryChoice; readonly label: string }[] = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
];

/**
 * The field for a key's expiry. `current` is the present expiry: an instant, null for never,
 * undefined for a new key, or `each` if the form changes several keys.
 */
export function ExpiryField(props: {
  readonly current: string | null | undefined;
  readonly value: TypedExpiry;
  readonly onChange: (value: TypedExpiry) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { current, value, onChange, error } = props;
  const isDate = value.choice === "date";
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Expires"
        description="After this date, requests with the key are rejected. You can change the date at any time."
        data={[...firstChoices(current), ...PERIODS]}
        value={value.choice}
        onChange={(event) =>
          onChange({ ...value, choice: event.currentTarget.value as ExpiryChoice })
        }
        error={isDate ? undefined : error}
      />
      {isDate ? (
        <TextInput
          type="date"
          label="Last day (UTC)"
          {...controlled(value.date, (date) => onChange({ ...value, date }))}
          error={error}
        />
      ) : null}
    </Stack>
  );
}

function firstChoices(
  current: string | null | undefined,
): readonly { readonly value: ExpiryChoice; readonly label: string }[] {
  if (current === "each") {
    return [
      { value: "", label: "Keep the expiry of each key" },
      { value: "never", label: "Never" },
    ];
  }
  if (current === undefined || current === null) return [{ value: "", label: "Never" }];
  return [
    { value: "", label: `Keep ${showUtc(current)}` },
    { value: "never", label: "Never" },
  ];
}
