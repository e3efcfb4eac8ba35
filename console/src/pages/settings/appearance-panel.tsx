import { Stack, Switch, Text, useMantineColorScheme } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { areSingleKeysOn, setSingleKeys } from "../../app/single-keys.ts";
import { setHatching, useHatching } from "../../ui/charts/hatching.ts";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Panel } from "../../ui/panel.tsx";

export function AppearancePanel(): ReactElement {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [areOn, setOn] = useState(areSingleKeysOn);
  const isHatched = useHatching();
  return (
    <Panel title="Appearance">
      <Stack gap="md">
        <FilterChips
          label="Theme"
          options={[
            { value: "auto", label: "System" },
            { value: "light", label: "Light" },
            { value: "dark", label: "Dark" },
          ]}
          value={colorScheme}
          onChange={setColorScheme}
        />
        <Switch
          label="Single-key shortcuts"
          description="g and a letter, / and ?. When off, only search (Ctrl K or ⌘K) and Esc work."
          checked={areOn}
          onChange={(event) => {
            setSingleKeys(event.currentTarget.checked);
            setOn(event.currentTarget.checked);
          }}
        />
        <Switch
          label="Patterns in charts"
          description="Draws a pattern on every color. Colors alone are chosen to be distinct with any kind of color blindness."
          checked={isHatched}
          onChange={(event) => setHatching(event.currentTarget.checked)}
        />
        <Text size="xs" c="dimmed">
          Stored in this browser only.
        </Text>
      </Stack>
    </Panel>
  );
}
