import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Key } from "../../../../src/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { useLast } from "./use-last.ts";

/** Disables a key after its name was typed; open while there is a key. */
export function DisableKeyDialog(props: {
  readonly disabled: Key | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const { disabled, onClose } = props;
  const shown = useLast(disabled);
  const change = useChange("POST /api/console/keys/:key_id/disable", {
    refreshes: [
      "GET /api/console/keys",
      "GET /api/console/keys/:key_id",
      "GET /api/console/limits",
      "GET /api/console/overview",
    ],
  });
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
      <Text size="sm">
        This is permanent: the key cannot be enabled again. It may still work for up to 5 seconds;
        after that, every request with it is rejected with 401.
      </Text>
    </ConfirmName>
  );
}
