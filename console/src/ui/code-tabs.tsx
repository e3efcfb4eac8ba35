import { Tabs } from "@mantine/core";

import { CodeBlock } from "./code-block.tsx";

export interface CodeTabsProps {
  readonly tabs: readonly { readonly label: string; readonly code: string }[];
}

export function CodeTabs({ tabs }: CodeTabsProps) {
  return (
    <Tabs defaultValue={tabs[0] === undefined ? null : toTabId(tabs[0].label)} keepMounted={false}>
      <Tabs.List aria-label="Languages">
        {tabs.map(({ label }) => (
          <Tabs.Tab key={label} value={toTabId(label)}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ label, code }) => (
        <Tabs.Panel key={label} value={toTabId(label)} pt="xs">
          <CodeBlock code={code} label={`${label} example`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** Makes a value for Mantine's tabs, which put it into an `id`. An `id` must not contain spaces. */
function toTabId(label: string): string {
  return label.replaceAll(" ", "-");
}
