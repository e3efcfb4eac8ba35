import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import type { useSubmission } from "../keys/use-submission.ts";

export interface TypedAmount {
  readonly amount: string;
  readonly ref: string;
}

/**
 * Fields for an amount in dollars and for its reference. The server applies an amount with the same
 * reference only once.
 */
export function AmountFields(props: {
  readonly submission: ReturnType<typeof useSubmission>;
  readonly typed: TypedAmount;
  readonly onTyped: (change: Partial<TypedAmount>) => void;
  readonly example: string;
  readonly refMeans: string;
  readonly isFirst?: boolean;
}): ReactNode {
  const { submission, typed, onTyped, example, refMeans, isFirst = false } = props;
  return (
    <>
      <TextInput
        label="Dollars"
        description={`Above 0, at most six decimals, such as ${example}.`}
        {...(isFirst ? { "data-autofocus": true } : {})}
        inputMode="decimal"
        maxLength={16}
        {...controlled(typed.amount, (amount) => onTyped({ amount }))}
        error={fieldError(submission.fault, "amount_usd")}
      />
      <TextInput
        label="Reference"
        description={refMeans}
        maxLength={200}
        {...controlled(typed.ref, (ref) => onTyped({ ref }))}
        error={fieldError(submission.fault, "ref")}
      />
    </>
  );
}
