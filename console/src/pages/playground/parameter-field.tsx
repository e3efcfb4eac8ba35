import { NativeSelect, Switch, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";

import type { Descriptor } from "../../api/contract.ts";
import { checkable, controlled } from "../../ui/fields.ts";
import type { ParameterValues } from "./chat/chat-types.ts";
import classes from "./playground.module.css";

type Value = ParameterValues[string] | undefined;

/** Undefined removes the value. */
export function withValue(values: ParameterValues, name: string, value: Value): ParameterValues {
  const { [name]: _before, ...rest } = values;
  return value === undefined ? rest : { ...rest, [name]: value };
}

interface ParameterFieldProps {
  readonly name: string;
  readonly descriptor: Descriptor;
  readonly value: Value;
  /** Called with undefined for the provider's default. */
  readonly onChange: (value: Value) => void;
}

export function ParameterField(props: ParameterFieldProps) {
  const { name, descriptor, value, onChange } = props;
  const label =
    PARAMETER_LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
  const text = controlled(String(value ?? ""), (typed) => onChange(typed || undefined));
  if (descriptor.type === "enum") {
    return (
      <NativeSelect
        label={label}
        {...text}
        data={[
          { value: "", label: defaultLabel(descriptor) },
          ...(descriptor.values ?? []).map((each) => ({ value: each, label: each })),
        ]}
      />
    );
  }
  if (descriptor.type === "range" || descriptor.type === "integer") {
    return <NumberField {...props} label={label} />;
  }
  if (descriptor.type === "unknown") {
    return (
      <Textarea
        label={label}
        description={name === "stop" ? "One word or phrase per line" : undefined}
        {...text}
        minRows={1}
        maxRows={4}
      />
    );
  }
  return (
    <Switch
      label={name === "response_format" ? "JSON output" : label}
      {...checkable(value === true, (isOn) => onChange(isOn || undefined))}
    />
  );
}

/** A number field of the browser, because Mantine's would add 12 KB to the playground. */
function NumberField(props: ParameterFieldProps & { readonly label: string }) {
  const { label, descriptor, value, onChange } = props;
  const { min, max, type, unit } = descriptor;
  // The typed text stays while it equals the current value, so that "0.50" does not become "0.5".
  const [typed, setTyped] = useState("");
  const isTyped = parseNumber(typed) === value;
  const isSlid = min !== undefined && max !== undefined && max > min;
  const slide = (to: number): void => {
    setTyped("");
    onChange(allowed(to, descriptor));
  };
  return (
    <TextInput
      type="number"
      label={label}
      placeholder={isSlid ? "Default" : defaultLabel(descriptor)}
      description={boundsLabel(min, max, unit)}
      value={isTyped ? typed : String(value ?? "")}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        onChange(parseNumber(event.currentTarget.value));
      }}
      onBlur={() => {
        if (typeof value === "number") onChange(allowed(value, descriptor));
      }}
      min={min}
      max={max}
      step={type === "integer" ? 1 : chooseStep(min, max)}
      inputContainer={(field) => (
        <div className={classes.number}>
          {isSlid ? (
            <Slider
              range={{ min, max, isWhole: type === "integer" }}
              value={value ?? descriptor.default}
              isUnset={value === undefined}
              onSlide={slide}
            />
          ) : null}
          {field}
        </div>
      )}
    />
  );
}

/** A slider next to the number field, for pointers only; logarithmic if `isWide`. */
function Slider(props: {
  readonly range: { readonly min: number; readonly max: number; readonly isWhole: boolean };
  readonly value: unknown;
  readonly isUnset: boolean;
  readonly onSlide: (to: number) => void;
}) {
  const { min, max, isWhole } = props.range;
  const isWide = isWhole && min > 0 && max / min > FACTOR_WIDE;
  const [from, to] = isWide ? [Math.log2(min), Math.log2(max)] : [min, max];
  const at = isWide ? Math.log2(Number(props.value)) : Number(props.value);
  return (
    <input
      type="range"
      aria-hidden
      tabIndex={-1}
      data-unset={props.isUnset}
      min={from}
      max={to}
      step={isWide || isWhole ? 1 : chooseStep(min, max) / 2}
      value={Number.isNaN(at) ? to : at}
      onChange={(event) => {
        const chosen = Number(event.currentTarget.value);
        props.onSlide(isWide ? 2 ** chosen : chosen);
      }}
    />
  );
}
const FACTOR_WIDE = 1_000;

function parseNumber(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}

function allowed(value: number, { min = -Infinity, max = Infinity, type }: Descriptor): number {
  return Math.min(max, Math.max(min, type === "integer" ? Math.trunc(value) : value));
}

/** The label of any other parameter is its name with spaces. */
const PARAMETER_LABELS: Readonly<Record<string, string>> = {
  max_tokens: "Max output tokens",
  max_completion_tokens: "Max output tokens",
  top_p: "Top P",
  top_k: "Top K",
  min_p: "Min P",
  stop: "Stop sequences",
  n: "Images",
  output_format: "File format",
  output_compression: "Compression (%)",
};

function defaultLabel({ default: fallback }: Descriptor): string {
  return fallback === undefined ? "Provider default" : `Default: ${fallback}`;
}

function boundsLabel(min?: number, max?: number, unit?: string): string | undefined {
  if (min === undefined && max === undefined) return undefined;
  const range =
    min === undefined ? `up to ${max}` : max === undefined ? `${min} or more` : `${min} to ${max}`;
  return unit === undefined ? range : `${range} ${unit}`;
}

function chooseStep(min = 0, max = 1): number {
  return max - min <= 5 ? 0.1 : 1;
}
