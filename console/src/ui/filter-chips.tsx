import { useId } from "react";

import kit from "./kit.module.css";

export interface FilterChipsProps<V extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: V; readonly label: string }[];
  readonly value: V;
  readonly onChange: (value: V) => void;
}

/** Lets the reader choose one of a few options. It is a radio group, so that arrow keys work. */
export function FilterChips<V extends string>(props: FilterChipsProps<V>) {
  const name = useId();
  return (
    <fieldset className={kit.chips}>
      <legend className={kit.hidden}>{props.label}</legend>
      {props.options.map(({ value, label }) => (
        <label key={value} className={kit.chip}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={value === props.value}
            onChange={() => props.onChange(value)}
            className={kit.hidden}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
