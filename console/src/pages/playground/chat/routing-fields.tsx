import { MultiSelect, Stack, Switch } from "@mantine/core";

import type { Model } from "../../../api/contract.ts";
import { checkable } from "../../../ui/fields.ts";
import type { Routing } from "./chat-types.ts";

export default function RoutingFields(props: {
  readonly models: readonly Model[];
  readonly routing: Routing;
  readonly onChange: (routing: Routing) => void;
}) {
  const { models, routing, onChange } = props;
  const ids = new Set(models.flatMap(({ providers }) => providers.map((each) => each.provider)));
  // The providers that a preset names stay visible, even if no chosen model is listed with them.
  for (const id of [routing.order, routing.only, routing.ignore].flat()) {
    if (id !== undefined) ids.add(id);
  }
  const data = [...ids].toSorted();
  return (
    <Stack gap="sm">
      {LISTS.map(({ name, label, help }) => (
        <MultiSelect
          key={name}
          label={label}
          description={help}
          data={data}
          value={[...(routing[name] ?? [])]}
          onChange={(chosen) => onChange({ ...routing, [name]: chosen })}
          searchable
          nothingFoundMessage="No match"
          comboboxProps={{ withinPortal: false }}
        />
      ))}
      <Switch
        label="No fallbacks"
        description="Only the first provider is tried"
        {...checkable(routing.isFirstOnly === true, (isOn) =>
          onChange({ ...routing, isFirstOnly: isOn }),
        )}
      />
      <Switch
        label="Require parameters"
        description="Only providers that accept every parameter sent"
        {...checkable(routing.isStrict === true, (isOn) =>
          onChange({ ...routing, isStrict: isOn }),
        )}
      />
    </Stack>
  );
}

const LISTS = [
  { name: "order", label: "Try first", help: "In this order" },
  { name: "only", label: "Only these providers", help: "All others are left out" },
  { name: "ignore", label: "Never these providers", help: "Left out" },
] as const;
