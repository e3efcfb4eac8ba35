import { Select, type OptionsFilter } from "@mantine/core";
import { useMemo } from "react";

import type { Model } from "../../api/contract.ts";
import { NameLine } from "../../ui/name-line.tsx";
import { priceLine } from "../models/price-labels.ts";
import { Note } from "../../ui/page.tsx";

export function ModelPicker(props: {
  readonly label: string;
  readonly models: readonly Model[];
  readonly value: string;
  readonly onChange: (modelId: string) => void;
}) {
  const options = useModelOptions(props.models);
  return (
    <Select
      {...options}
      label={props.label}
      value={props.value}
      onChange={(chosen) => {
        if (chosen !== null) props.onChange(chosen);
      }}
      allowDeselect={false}
    />
  );
}

export function ModelField(props: {
  readonly models: readonly Model[];
  readonly model: Model;
  readonly onChange: (modelId: string) => void;
}) {
  const { models, model, onChange } = props;
  return (
    <div>
      <ModelPicker label="Model" models={models} value={model.id} onChange={onChange} />
      <ModelNote model={model} />
    </div>
  );
}

/** Returns the props of a field that chooses models by name or ID. */
export function useModelOptions(models: readonly Model[]) {
  return useMemo(() => {
    const byId = new Map(models.map((each) => [each.id, each]));
    return {
      data: models.map(({ id, name }) => ({ value: id, label: name })),
      searchable: true,
      // Enter takes the first match, so typing a name and pressing Enter chooses a model.
      selectFirstOptionOnChange: true,
      nothingFoundMessage: "No match",
      maxDropdownHeight: 360,
      comboboxProps: { shadow: "md", withinPortal: false },
      filter: matching,
      renderOption: ({ option }: { readonly option: { readonly value: string } }) => {
        const model = byId.get(option.value);
        if (model === undefined) return option.value;
        const note = `${model.id} · ${priceLine(model.providers)} · ${describeLogging(model)}`;
        return <NameLine of={model.id} name={model.name} note={note} />;
      },
    } as const;
  }, [models]);
}

const matching: OptionsFilter = ({ options, search }) => {
  const wanted = search.trim().toLowerCase();
  return options.filter(
    (option) =>
      "value" in option && `${option.label} ${option.value}`.toLowerCase().includes(wanted),
  );
};

export function ModelNote({ model }: { readonly model: Model }) {
  const kinds = model.input_modalities.filter((each) => each !== "text");
  return (
    <Note size="xs" mt={4}>
      {[describeLogging(model), ...kinds.map((kind) => `accepts ${kind}`)].join(" · ")}
    </Note>
  );
}

function describeLogging({ providers }: Model): string {
  const words = new Set(providers.map(({ prompt_logging: logging }) => logging));
  if (words.size > 1) return "Prompt logging depends on the provider";
  return words.has("none") ? "No prompt logging" : "Prompts retained";
}
