import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import type { Key } from "../../../../src/console-api/contract.ts";
import { CapField } from "./cap-field.tsx";
import { TAGS_HELP, type FieldProblems, type TypedKey } from "./key-forms.ts";

type Typed = Pick<TypedKey, "capWeek" | "capDay" | "tags">;

/** The caps by the week and the day, and the tags, of a key that is there or of a new one. */
export function PeriodFields(props: {
  readonly edited?: Key;
  readonly value: Typed;
  readonly onChange: (change: Partial<Typed>) => void;
  readonly errorOf: (field: keyof FieldProblems) => string | undefined;
}): ReactNode {
  const { edited, value, onChange, errorOf } = props;
  return (
    <>
      <CapField
        label="Weekly cap in dollars"
        applies="Weeks begin on Monday at 00:00 UTC."
        currentUsd={edited?.cap_week_usd ?? null}
        value={value.capWeek}
        onChange={(capWeek) => onChange({ capWeek })}
        error={errorOf("cap_week_usd")}
      />
      <CapField
        label="Daily cap in dollars"
        applies="Days begin at 00:00 UTC."
        currentUsd={edited?.cap_day_usd ?? null}
        value={value.capDay}
        onChange={(capDay) => onChange({ capDay })}
        error={errorOf("cap_day_usd")}
      />
      <TextInput
        label="Tags"
        description={TAGS_HELP}
        autoComplete="off"
        maxLength={400}
        value={value.tags}
        onChange={(event) => onChange({ tags: event.currentTarget.value })}
        error={errorOf("tags")}
      />
    </>
  );
}
