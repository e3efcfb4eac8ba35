import { Text, TextInput } from "@mantine/core";
import type { ReactElement } from "react";

import { FilterChips } from "../../ui/filter-chips.tsx";
import {
  chosen,
  customFault,
  DAY_MS,
  RANGES,
  readMinute,
  writeMinute,
  type ChangeSearch,
  type Range,
  type UsageSearch,
} from "./usage-search.ts";
import styles from "./usage.module.css";

export interface RangeFieldsProps {
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
  readonly nowMs: number;
}

/** Which time is looked at. */
export function RangeFields({ search, change, nowMs }: RangeFieldsProps): ReactElement {
  const range = chosen(RANGES, search.range);
  const fault = range === "custom" ? customFault(search) : undefined;

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
      <FilterChips label="Time range" options={RANGES} value={range} onChange={onRange} />
      {range === "custom" ? (
        <>
          <MinuteField
            label="From (UTC)"
            value={search.from}
            onChange={(from) => change({ from })}
          />
          <MinuteField label="To (UTC)" value={search.to} onChange={(to) => change({ to })} />
        </>
      ) : null}
      {fault === undefined ? null : (
        <Text size="sm" c="var(--tm-bad)" role="alert">
          {fault} Until then the last 24 hours are shown.
        </Text>
      )}
    </div>
  );
}

function MinuteField(props: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}): ReactElement {
  return (
    <TextInput
      type="datetime-local"
      label={props.label}
      size="xs"
      defaultValue={props.value}
      key={props.value}
      max={FIELD_MAX}
      onBlur={(event) => {
        const typed = event.currentTarget.value;
        if (readMinute(typed) !== undefined && typed !== props.value) props.onChange(typed);
      }}
    />
  );
}
/** Keeps the year of the field at four digits. */
const FIELD_MAX = "9999-12-31T23:59";
