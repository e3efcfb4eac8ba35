import { Select, type OptionsFilter } from "@mantine/core";
import { useMemo } from "react";

import type { Model } from "../../api/contract.ts";
import { NameLine } from "../../ui/name-line.tsx";
import { priceLine } from "../models/price-labels.ts";
import { Note } from "../../ui/note.tsx";

export interface ModelPickerProps {
  readonly label: string;
  /** In the order of the catalog, newest first. */
  readonly models: readonly Model[];
  readonly value: string | undefined;
  readonly onChange: (modelId: string) => void;
}

export function ModelPicker({ label, models, value, onChange }: ModelPickerProps) {
  const options = useModelOptions(models);
  return (
    <Select
      {...options}
      label={label}
      value={value ?? null}
      onChange={(chosen) => {
        if (chosen !== null) onChange(chosen);
      }}
      allowDeselect={false}
    />
  );
}

/** Returns the props of a field that chooses models. The reader can search by name and ID. */
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
        return model === undefined ? option.value : <ModelOption model={model} />;
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

function ModelOption({ model }: { readonly model: Model }) {
  return (
    <NameLine
      of={model.id}
      name={model.name}
      note={`${model.id} · ${priceLine(model.providers)} · ${LOGGING_LABELS[describeLogging(model)]}`}
    />
  );
}

export function ModelNote({ model }: { readonly model: Model }) {
  const kinds = model.input_modalities.filter((each) => each !== "text");
  return (
    <Note size="xs" mt={4}>
      {[LOGGING_LABELS[describeLogging(model)], ...kinds.map((kind) => `accepts ${kind}`)].join(
        " · ",
      )}
    </Note>
  );
}

const LOGGING_LABELS = {
  none: "No prompt logging",
  retained: "Prompts retained",
  mixed: "Prompt logging depends on the provider",
} as const;

function describeLogging({ providers }: Model): keyof typeof LOGGING_LABELS {
  const words = new Set(providers.map(({ prompt_logging: logging }) => logging));
  if (words.size > 1) return "mixed";
  return words.has("none") ? "none" : "retained";
}
