import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import type { Caps, Key } from "../../../../src/account/console-api/contract.ts";
import { CapField } from "./cap-field.tsx";
import { KEY_CAPS } from "./key-caps.ts";
import { controlled } from "../../ui/controlled.ts";
import { TAGS_HELP, type FieldProblems, type TypedKey } from "./key-forms.ts";

type ErrorOf = (field: keyof FieldProblems) => string | undefined;

/** The fields of a key's caps. `edited` is null for a new key, undefined for several keys. */
export function CapFields(props: {
  readonly edited: Key | null | undefined;
  readonly value: Caps<string>;
  readonly onChange: (caps: Caps<string>) => void;
  readonly errorOf: ErrorOf;
}): ReactNode {
  const { edited, value, onChange, errorOf } = props;
  return KEY_CAPS.map(({ period, field, label, applies }) => (
    <CapField
      key={period}
      label={label}
      applies={applies}
      currentUsd={edited === null ? null : edited?.[field]}
      value={value[period]}
      onChange={(cap) => onChange({ ...value, [period]: cap })}
      error={errorOf(field)}
    />
  ));
}

type Typed = Pick<TypedKey, "caps" | "tags">;

export function CapAndTagFields(props: {
  readonly edited: Key | null;
  readonly value: Typed;
  readonly onChange: (change: Partial<Typed>) => void;
  readonly errorOf: ErrorOf;
}): ReactNode {
  const { edited, value, onChange, errorOf } = props;
  return (
    <>
      <CapFields
        edited={edited}
        value={value.caps}
        onChange={(caps) => onChange({ caps })}
        errorOf={errorOf}
      />
      <TextInput
        label="Tags"
        description={TAGS_HELP}
        maxLength={400}
        {...controlled(value.tags, (tags) => onChange({ tags }))}
        error={errorOf("tags")}
      />
    </>
  );
}
