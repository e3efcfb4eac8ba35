import { Stack } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import type { Model } from "../../../../../src/account/console-api/contract.ts";
import { ModelNote, ModelPicker } from "../model-picker.tsx";
import { ParameterField } from "../parameter-field.tsx";

export type FieldValues = Readonly<Record<string, string | number | boolean>>;

/** Fields of a tab for its model and for the parameters that this model declares. */
export function CallPanel(props: {
  readonly models: readonly Model[];
  readonly model: Model;
  readonly onModel: (modelId: string) => void;
  readonly values: FieldValues;
  readonly onValues: (values: FieldValues) => void;
  readonly hidden?: ReadonlySet<string>;
  readonly children?: ReactNode;
}): ReactElement {
  const { models, model, values, onValues, hidden } = props;
  return (
    <Stack gap="md">
      <div>
        <ModelPicker label="Model" models={models} value={model.id} onChange={props.onModel} />
        <ModelNote model={model} />
      </div>
      {Object.entries(model.parameters)
        .filter(([name, { type }]) => type !== "unknown" && hidden?.has(name) !== true)
        .map(([name, descriptor]) => (
          <ParameterField
            key={name}
            name={name}
            descriptor={descriptor}
            value={values[name]}
            onChange={(value) => {
              const { [name]: _before, ...rest } = values;
              onValues(value === undefined ? rest : { ...rest, [name]: value });
            }}
          />
        ))}
      {props.children}
    </Stack>
  );
}

/** Returns the values that this model accepts. Drops some that were set for another model. */
export function declaredValues(model: Model, values: FieldValues): FieldValues {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => {
      const descriptor = model.parameters[name];
      if (descriptor === undefined) return false;
      return descriptor.type !== "enum" || descriptor.values?.includes(String(value)) === true;
    }),
  );
}
