import { List, Text } from "@mantine/core";

import { useChange } from "../../api/use-answer.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { countKeys, type ChosenKeysProps } from "./chosen-bar.tsx";
import { KEY_READERS } from "./caps.ts";

export default function DisableKeysDialog(props: ChosenKeysProps) {
  const { keys, onClose, onDone } = props;
  const change = useChange("POST /api/console/keys/disable", KEY_READERS);
  const disable = async (): Promise<void> => {
    const { changed } = await change.mutateAsync({
      body: { key_ids: keys.map(({ key_id }) => key_id), confirm_count: keys.length },
    });
    notifyDone(`${countKeys(changed)} disabled`);
    onDone();
  };
  const more = keys.length - NAMES_MAX;
  return (
    <ConfirmName
      opened
      title={`Disable ${countKeys(keys.length)}`}
      name={String(keys.length)}
      confirmLabel="Disable permanently"
      onConfirm={disable}
      onClose={onClose}
    >
      <List size="sm" mb="sm">
        {keys.slice(0, NAMES_MAX).map(({ key_id, name, label }) => (
          <List.Item key={key_id}>
            {name} ({label}…)
          </List.Item>
        ))}
        {more > 0 ? <List.Item>and {more} more</List.Item> : null}
      </List>
      <Text size="sm">
        This is permanent: the keys cannot be enabled again. They may still work for up to 5
        seconds. After that, every request with them is rejected with 401.
      </Text>
    </ConfirmName>
  );
}

const NAMES_MAX = 10;
