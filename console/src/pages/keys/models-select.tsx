import { MultiSelect } from "@mantine/core";

import { useAnswer } from "../../api/use-answer.ts";
import { MODELS_MAX } from "./key-forms.ts";

export interface ModelsFieldProps {
  readonly value: readonly string[];
  readonly onChange: (models: readonly string[]) => void;
  readonly error: string | undefined;
}

export default function ModelsSelect(props: ModelsFieldProps) {
  const listed = useAnswer("GET /api/models.json").data?.models ?? [];
  const { value, onChange, error } = props;
  return (
    <MultiSelect
      label="Models"
      description="Leave blank for all models. With a selection, the key can list and call only these models."
      placeholder={value.length === 0 ? "All models" : undefined}
      // A chosen model stays selectable even if it is no longer listed.
      data={[...new Set([...listed, ...value])]}
      value={[...value]}
      onChange={onChange}
      limit={50}
      maxValues={MODELS_MAX}
      searchable
      hidePickedOptions
      nothingFoundMessage="No match"
      error={error}
    />
  );
}
