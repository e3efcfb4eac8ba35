import { Checkbox, Group, Text } from "@mantine/core";
import { lazy, Suspense, useState } from "react";

import type { Key } from "../../api/contract.ts";
import { SmallButton } from "../../ui/buttons.tsx";

const ChangeKeysDialog = lazy(() => import("./change-keys-dialog.tsx"));
const DisableKeysDialog = lazy(() => import("./disable-keys-dialog.tsx"));

/** Selects all keys in `rows`, and offers the actions for the selected keys. */
export function ChosenBar(props: {
  readonly rows: readonly Key[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}) {
  const { rows, chosen, onChoose } = props;
  const [dialog, setDialog] = useState<"change" | "disable">();
  const able = rows.filter(canBeChosen);
  // Keys that a filter hides must not be changed.
  const keys = able.filter((key) => chosen.has(key.key_id));
  if (able.length === 0) return null;
  const areAll = keys.length === able.length;
  const areTooMany = keys.length > CHOSEN_MAX;
  const close = (): void => setDialog(undefined);
  const about = {
    keys,
    onClose: close,
    onDone: () => {
      close();
      onChoose(new Set());
    },
  };
  return (
    <Group gap="sm" mih={36}>
      <Checkbox
        label={`Select all (${able.length})`}
        checked={areAll}
        indeterminate={keys.length > 0 && !areAll}
        onChange={() => onChoose(new Set(areAll ? [] : able.map(({ key_id }) => key_id)))}
      />
      {keys.length === 0 ? null : (
        <Group gap="sm" role="group" aria-label="Selected keys">
          <Text size="sm" role="status">
            {countKeys(keys.length)} selected
            {areTooMany ? `; at most ${CHOSEN_MAX} can be changed at once` : ""}
          </Text>
          <SmallButton disabled={areTooMany} onClick={() => setDialog("change")}>
            Change caps, expiry, or tags
          </SmallButton>
          <SmallButton disabled={areTooMany} onClick={() => setDialog("disable")}>
            Disable selected
          </SmallButton>
        </Group>
      )}
      <Suspense fallback={null}>
        {dialog === "change" ? <ChangeKeysDialog opened {...about} /> : null}
        {dialog === "disable" ? <DisableKeysDialog {...about} /> : null}
      </Suspense>
    </Group>
  );
}

export interface ChosenKeysProps {
  readonly keys: readonly Key[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const CHOSEN_MAX = 100;

export function canBeChosen({ disabled_at: disabledAt }: Pick<Key, "disabled_at">): boolean {
  return disabledAt === null;
}

export function countKeys(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
