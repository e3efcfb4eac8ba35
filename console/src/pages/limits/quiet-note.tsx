import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** Tells how many keys are hidden because they have only defaults, with a button to show them. */
export function QuietNote(props: {
  readonly quiet: number;
  /** Says what the hidden keys have, such as `"only the default limits"`. */
  readonly have: string;
  readonly isAll: boolean;
  readonly onChange: (isAll: boolean) => void;
}): ReactNode {
  const { quiet, have, isAll, onChange } = props;
  if (quiet === 0) return null;
  return (
    <Group gap="sm">
      <Text size="sm">
        {quiet} keys have {have}.
      </Text>
      <Button size="compact-xs" variant="default" onClick={() => onChange(!isAll)}>
        {isAll ? "Hide them" : "Show them"}
      </Button>
    </Group>
  );
}
