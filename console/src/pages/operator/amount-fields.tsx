import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { fieldError } from "../../ui/field-errors.ts";
import type { useSubmission } from "../keys/use-submission.ts";

/** An amount that is moved by hand, as typed. */
export interface TypedAmount {
  readonly amount: string;
  readonly ref: string;
}

/** Dollars, and the reference by which they are moved once. */
export function AmountFields(props: {
  readonly submission: ReturnType<typeof useSubmission>;
  readonly typed: TypedAmount;
  readonly onTyped: (change: Partial<TypedAmount>) => void;
  /** Such as 25.00. */
  readonly example: string;
  /** The purpose of the reference. */
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
        autoComplete="off"
        maxLength={16}
        value={typed.amount}
        onChange={(event) => onTyped({ amount: event.currentTarget.value })}
        error={fieldError(submission.fault, "amount_usd")}
      />
      <TextInput
        label="Reference"
        description={refMeans}
        autoComplete="off"
        maxLength={200}
        value={typed.ref}
        onChange={(event) => onTyped({ ref: event.currentTarget.value })}
        error={fieldError(submission.fault, "ref")}
      />
    </>
  );
}
