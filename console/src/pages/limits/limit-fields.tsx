import { Checkbox, Stack, TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { controlled } from "../../ui/controlled.ts";
import { formatCount } from "../../ui/count.tsx";
import {
  KIND_LABELS,
  LIMIT_KINDS,
  type Ceilings,
  type LimitKind,
  type TypedLimit,
  type TypedLimits,
} from "./limit-change.ts";

export const BLANK_LIMITS: TypedLimits = {
  rpm: { text: "", isRemoved: false },
  tpm: { text: "", isRemoved: false },
  concurrency: { text: "", isRemoved: false },
};

/** The fields of the organization's own limits. They start empty; a blank field changes nothing. */
export function LimitFields(props: {
  readonly typed: TypedLimits;
  readonly onChange: (typed: TypedLimits) => void;
  readonly ceilings: Ceilings;
  readonly own: Ceilings;
  readonly errorOf: (kind: LimitKind) => string | undefined;
}): ReactNode {
  const { typed, onChange, ceilings, own, errorOf } = props;
  return (
    <>
      {LIMIT_KINDS.map((kind) => (
        <LimitField
          key={kind}
          kind={kind}
          typed={typed[kind]}
          bounds={{ ceiling: ceilings[kind], own: own[kind] }}
          error={errorOf(kind)}
          onChange={(field) => onChange({ ...typed, [kind]: field })}
        />
      ))}
    </>
  );
}

function LimitField(props: {
  readonly kind: LimitKind;
  readonly typed: TypedLimit;
  readonly bounds: { readonly ceiling: number | null; readonly own: number | null };
  readonly error: string | undefined;
  readonly onChange: (typed: TypedLimit) => void;
}): ReactNode {
  const { kind, typed, bounds, error, onChange } = props;
  const { ceiling, own } = bounds;
  const { label } = KIND_LABELS[kind];
  return (
    <Stack gap={6}>
      <TextInput
        label={label}
        description={
          ceiling === null
            ? "Leave blank to keep it unchanged. There is no ceiling."
            : `1 to ${formatCount(ceiling)}. Leave blank to keep it unchanged.`
        }
        placeholder={own === null ? "Not set" : String(own)}
        inputMode="numeric"
        maxLength={12}
        disabled={typed.isRemoved}
        {...controlled(typed.text, (text) => onChange({ ...typed, text }))}
        error={error}
      />
      {own === null ? null : (
        <Checkbox
          size="xs"
          label={`Remove my limit of ${formatCount(own)}`}
          checked={typed.isRemoved}
          onChange={(event) => onChange({ ...typed, isRemoved: event.currentTarget.checked })}
        />
      )}
    </Stack>
  );
}
