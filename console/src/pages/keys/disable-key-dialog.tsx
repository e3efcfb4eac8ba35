import { Stack, Text } from "@mantine/core";

import type { Key } from "../../api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { formatCount } from "../../ui/format.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { KEY_READERS } from "./caps.ts";
import { useLast } from "../../ui/form-dialog.tsx";

export default function DisableKeyDialog(props: {
  readonly disabled: Key | undefined;
  readonly onClose: () => void;
}) {
  const { disabled, onClose } = props;
  const shown = useLast(disabled);
  const change = useChange("POST /api/console/keys/:key_id/disable", KEY_READERS);
  const disable = async (): Promise<void> => {
    if (disabled === undefined) return;
    await change.mutateAsync({
      params: { key_id: disabled.key_id },
      body: { confirm_name: disabled.name },
    });
    notifyDone(`“${disabled.name}” was disabled`);
    onClose();
  };
  return (
    <ConfirmName
      opened={disabled !== undefined}
      title="Disable key"
      name={shown?.name ?? ""}
      confirmLabel="Disable permanently"
      onConfirm={disable}
      onClose={onClose}
    >
      {shown === undefined ? null : <KeyAtStake shown={shown} isOpen={disabled !== undefined} />}
      <Text size="sm">
        This is permanent: the key cannot be enabled again. It may still work for up to 5 seconds.
        After that, every request with it is rejected with 401.
      </Text>
    </ConfirmName>
  );
}

/** Shows how the key differs from others with the same name, and whether it is still used. */
function KeyAtStake(props: { readonly shown: Key; readonly isOpen: boolean }) {
  const { key_id, label, created_at, last_used_at } = props.shown;
  const asked = { params: { key_id } };
  const detail = useAnswer("GET /api/console/keys/:key_id", asked, { enabled: props.isOpen });
  const today = detail.data?.days.at(-1)?.requests;
  return (
    <Stack gap={0} mb="sm">
      <FactList
        facts={[
          ["Begins with", `${label}…`],
          ["Created", <Time at={created_at} />],
          ["Last used", last_used_at === null ? "Never" : <Time at={last_used_at} />],
          ["Requests today", today === undefined ? "…" : formatCount(today)],
        ]}
      />
    </Stack>
  );
}
