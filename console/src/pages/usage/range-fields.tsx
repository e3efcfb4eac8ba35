import { Text, TextInput } from "@mantine/core";
import type { FormEvent } from "react";

import { FilterChips } from "../../ui/filter-chips.tsx";
import { writeMinute } from "./day-range.ts";
import {
  customFault,
  DAY_MS,
  readRange,
  RANGES,
  type Range,
  type SearchProps,
} from "./usage-search.ts";
import styles from "./usage.module.css";
import { SmallButton } from "../../ui/buttons.tsx";

export function RangeFields({ search, change, nowMs }: SearchProps & { readonly nowMs: number }) {
  const range = readRange(search);

  function onRange(wanted: Range): void {
    if (wanted !== "custom") return change({ range: wanted, from: undefined, to: undefined });
    const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
    change({
      range: wanted,
      from: search.from ?? writeMinute(today - DAY_MS),
      to: search.to ?? writeMinute(today + DAY_MS),
    });
  }
  return (
    <div className={styles.rangeLine}>
      <div className={styles.scrollLine} data-scrolls>
        <FilterChips label="Time range" options={RANGES} value={range} onChange={onRange} />
      </div>
      {range === "custom" ? (
        <CustomRange key={`${search.from}-${search.to}`} search={search} change={change} />
      ) : null}
    </div>
  );
}

function CustomRange({ search, change }: SearchProps) {
  const fault = customFault(search);

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    change({ from: readMinute(fields.get("from")), to: readMinute(fields.get("to")) });
  }
  return (
    <>
      <form className={styles.rangeLine} onSubmit={onSubmit}>
        <MinuteField label="From (UTC)" name="from" value={search.from} />
        <MinuteField label="To (UTC)" name="to" value={search.to} />
        <SmallButton type="submit">Show</SmallButton>
      </form>
      {fault === undefined ? null : (
        <Text size="sm" c="var(--tm-bad)" role="alert">
          {fault} Until then the last 24 hours are shown.
        </Text>
      )}
    </>
  );
}

function MinuteField(props: {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
}) {
  return (
    <TextInput
      type="datetime-local"
      label={props.label}
      name={props.name}
      size="xs"
      defaultValue={props.value ?? ""}
      max={FIELD_MAX}
    />
  );
}
/** Latest time that a field accepts. Without it, browsers accept years of more than four digits. */
const FIELD_MAX = "9999-12-31T23:59";

function readMinute(value: FormDataEntryValue | null): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
