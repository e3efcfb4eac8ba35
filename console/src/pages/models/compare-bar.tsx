import { Button, Checkbox, Group, Paper, Text } from "@mantine/core";

import type { Model } from "../../api/contract.ts";
import { checkable } from "../../ui/fields.ts";
import { LinkButton } from "../../ui/app-link.tsx";
import { COMPARED_MAX, withPick, writePicks } from "./compare-picks.ts";
import styles from "./models.module.css";

export interface Picks {
  readonly ids: readonly string[];
  readonly change: (ids: readonly string[]) => void;
}

export function PickBox(props: { readonly model: Model; readonly picks: Picks }) {
  const { model, picks } = props;
  const isPicked = picks.ids.includes(model.id);
  const isFull = !isPicked && picks.ids.length >= COMPARED_MAX;
  return (
    <Checkbox
      size="xs"
      aria-label={`Compare ${model.name}`}
      {...checkable(isPicked, (isOn) => picks.change(withPick(picks.ids, model.id, isOn)))}
      disabled={isFull}
    />
  );
}

export function CompareBar(props: { readonly models: readonly Model[]; readonly picks: Picks }) {
  const { models, picks } = props;
  if (picks.ids.length === 0) return null;
  const names = picks.ids.map((id) => models.find((each) => each.id === id)?.name ?? id);
  return (
    <Paper component="section" withBorder className={styles.compareBar} aria-label="Compare">
      <Text size="sm" role="status" className={styles.compareNames}>
        {names.join(", ")}
        {picks.ids.length < COMPARED_MAX ? null : ` (${COMPARED_MAX} at most)`}
      </Text>
      <Group gap="xs">
        <Button variant="subtle" size="compact-sm" onClick={() => picks.change([])}>
          Clear
        </Button>
        <LinkButton
          to="/models/compare"
          search={{ models: writePicks(picks.ids) }}
          size="compact-sm"
          variant="filled"
        >
          {picks.ids.length === 1 ? "Show costs" : `Compare ${picks.ids.length} models`}
        </LinkButton>
      </Group>
    </Paper>
  );
}
