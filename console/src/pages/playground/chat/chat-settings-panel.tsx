import { Group, Stack, Textarea, Title } from "@mantine/core";
import { Plus, X } from "lucide-react";
import { useState } from "react";

import type { Model } from "../../../api/contract.ts";
import { controlled } from "../../../ui/fields.ts";
import { FilterChips } from "../../../ui/filter-chips.tsx";
import { ModelNote, ModelPicker } from "../model-picker.tsx";
import type { ParameterValues } from "./chat-types.ts";
import { ParameterField, withValue } from "../parameter-field.tsx";
import classes from "../playground.module.css";
import { presentParameters } from "./chat-request.ts";
import { StructureFields, type SettingsProps } from "./structure-fields.tsx";
import { IconButton } from "../call-figures.tsx";
import { SmallButton } from "../../../ui/buttons.tsx";
import { Note } from "../../../ui/page.tsx";

const MODELS_MAX = 4;

export function ChatSettingsPanel({ models, settings, onChange }: SettingsProps) {
  const { modelIds } = settings;
  const chosen = modelIds.flatMap((id) => models.filter((each) => each.id === id));
  const next = models.find(({ id }) => !modelIds.includes(id));
  return (
    <Stack gap="md">
      {modelIds.map((id, at) => (
        <ChosenModel
          key={id}
          number={at + 1}
          models={models.filter((each) => each.id === id || !modelIds.includes(each.id))}
          modelId={id}
          isOnly={modelIds.length === 1}
          onChange={(modelId) => onChange({ modelIds: modelIds.with(at, modelId) })}
          onRemove={() => onChange({ modelIds: modelIds.filter((each) => each !== id) })}
        />
      ))}
      {next !== undefined && modelIds.length < MODELS_MAX ? (
        <SmallButton
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => onChange({ modelIds: [...modelIds, next.id] })}
        >
          Compare with another model
        </SmallButton>
      ) : null}
      <Textarea
        label="System prompt"
        placeholder="Instructions for the model"
        {...controlled(settings.system, (system) => onChange({ system }))}
        maxRows={8}
      />
      <Parameters models={chosen} {...{ settings, onChange }} />
      <StructureFields models={chosen} {...{ settings, onChange }} />
    </Stack>
  );
}

const ALL = "";

function Parameters({ models: chosen, settings, onChange }: SettingsProps) {
  const { parameters, own = {} } = settings;
  const [picked, setPicked] = useState(ALL);
  // `picked` may be a model that the reader has since removed from the chosen ones.
  const one = chosen.length > 1 ? chosen.find(({ id }) => id === picked) : undefined;
  const shown = presentParameters(one === undefined ? chosen : [one]);
  if (shown.length === 0) return null;
  const values = one === undefined ? parameters : { ...parameters, ...own[one.id] };
  function set(name: string, value: ParameterValues[string] | undefined): void {
    if (one === undefined) return onChange({ parameters: withValue(parameters, name, value) });
    onChange({ own: { ...own, [one.id]: withValue(own[one.id] ?? {}, name, value) } });
  }
  return (
    <Stack gap="sm" component="section" aria-label="Parameters">
      <Title order={2} size="h5">
        Parameters
      </Title>
      {chosen.length > 1 ? (
        <FilterChips
          label="Parameters of"
          options={[
            { value: ALL, label: "All models" },
            ...chosen.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={one?.id ?? ALL}
          onChange={setPicked}
        />
      ) : null}
      {shown.map(({ name, descriptor }) => (
        <ParameterField
          key={`${one?.id ?? ALL} ${name}`}
          name={name}
          descriptor={descriptor}
          value={values[name]}
          onChange={(value) => set(name, value)}
        />
      ))}
      {chosen.length > 1 ? (
        <Note size="xs">
          {one === undefined
            ? "Each model receives only the parameters it supports."
            : "These settings apply to this model only. Blank fields use the settings for all models."}
        </Note>
      ) : null}
    </Stack>
  );
}

function ChosenModel(props: {
  readonly number: number;
  readonly models: readonly Model[];
  readonly modelId: string;
  readonly isOnly: boolean;
  readonly onChange: (modelId: string) => void;
  readonly onRemove: () => void;
}) {
  const { models, modelId, isOnly, number } = props;
  const model = models.find(({ id }) => id === modelId);
  return (
    <div>
      <Group gap={4} wrap="nowrap" align="flex-end">
        <div className={classes.grow}>
          <ModelPicker
            label={isOnly ? "Model" : `Model ${number}`}
            models={models}
            value={modelId}
            onChange={props.onChange}
          />
        </div>
        {isOnly ? null : (
          <IconButton
            size="lg"
            icon={X}
            label={`Remove model ${number}`}
            onClick={props.onRemove}
          />
        )}
      </Group>
      {model === undefined ? null : <ModelNote model={model} />}
    </div>
  );
}
