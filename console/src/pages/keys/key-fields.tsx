import { TextInput, type TextInputProps, NativeSelect, Stack, Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";

import type { Caps, Key } from "../../api/contract.ts";
import { controlled } from "../../ui/fields.ts";
import { plainUsd } from "../../ui/money-math.ts";
import { KEY_CAPS } from "./caps.ts";
import type { Form } from "../../ui/form-dialog.tsx";
import { TAGS_HELP, type TypedKey } from "./key-forms.ts";
import { showUtc } from "../../ui/time.tsx";
import type { ExpiryChoice, TypedExpiry } from "./expiry-choice.ts";
import type { ModelsFieldProps } from "./models-select.tsx";

/** Starts empty even if the key has a cap, so that saving other fields never rewrites the cap. */
export function CapField(props: {
  readonly of: (typeof KEY_CAPS)[number];
  /** The current cap. Null: there is none. Undefined: the form changes several keys. */
  readonly currentUsd: string | null | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}) {
  const { of, currentUsd, error } = props;
  return (
    <TextInput
      label={of.label}
      description={`${blankHelp(currentUsd)} ${of.applies}`}
      placeholder={choosePlaceholder(currentUsd)}
      inputMode="decimal"
      maxLength={20}
      {...controlled(props.value, props.onChange)}
      error={error}
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

/** The fields of a key's caps. `edited` is null for a new key, undefined for several keys. */
export function CapFields(props: {
  readonly edited: Key | null | undefined;
  readonly form: Form<{ readonly caps: Caps<string> }>;
}) {
  const { edited, form } = props;
  const { caps } = form.typed;
  return KEY_CAPS.map((cap) => (
    <CapField
      key={cap.period}
      of={cap}
      currentUsd={edited === null ? null : edited?.[cap.field]}
      value={caps[cap.period]}
      onChange={(usd) => form.set({ caps: { ...caps, [cap.period]: usd } })}
      error={form.errorOf(cap.field)}
    />
  ));
}

/** The fields of one key except its name. `edited` is null for a new key. */
export function KeyFields(props: {
  readonly edited: Key | null;
  readonly form: Form<Omit<TypedKey, "name">>;
  readonly rpm: TextInputProps;
}) {
  const { edited, form } = props;
  return (
    <>
      <TextInput
        label="Requests per minute"
        inputMode="numeric"
        maxLength={9}
        {...props.rpm}
        {...form.text("rpm")}
      />
      <CapFields edited={edited} form={form} />
      <TextInput label="Tags" description={TAGS_HELP} maxLength={400} {...form.text("tags")} />
      <ExpiryField
        current={edited?.expires_at}
        value={form.typed.expiry}
        onChange={(expiry) => form.set({ expiry })}
        error={form.errorOf("expires_at")}
      />
      <ModelsField
        value={form.typed.models}
        onChange={(models) => form.set({ models })}
        error={form.errorOf("models")}
      />
    </>
  );
}

const PERIODS: readonly { readonly value: ExpiryChoice; readonly label: string }[] = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
];

/** `current`: an instant, null for never, undefined for a new key, or `each` for several keys. */
export function ExpiryField(props: {
  readonly current: string | null | undefined;
  readonly value: TypedExpiry;
  readonly onChange: (value: TypedExpiry) => void;
  readonly error: string | undefined;
}) {
  const { current, value, onChange, error } = props;
  const isDate = value.choice === "date";
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Expires"
        description="After this date, requests with the key are rejected. You can change the date at any time."
        data={[...firstChoices(current), ...PERIODS]}
        {...controlled(value.choice, (text) => onChange({ ...value, choice: text }))}

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

const ModelsSelect = lazy(() => import("./models-select.tsx"));

/** The field for a key's models. Its code is loaded when the form opens, not with the page. */
function ModelsField(props: ModelsFieldProps) {
  return (
    <Suspense fallback={<Skeleton height={FIELD_PX} />}>
      <ModelsSelect {...props} />
    </Suspense>
  );
}

const FIELD_PX = 76;
