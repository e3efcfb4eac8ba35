import { Stack, Text } from "@mantine/core";

import type { Key } from "../../api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { formatCount } from "../../ui/format.ts";
import { ConfirmForm } from "../../ui/confirm-name.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { KEY_READERS } from "./caps.ts";
import { editDialog, type EditProps } from "../../ui/form-dialog.tsx";

export default editDialog(
  () => "Disable key",
  DisableForm,
  ({ key_id }) => key_id,
);

function DisableForm({ edited, onClose }: EditProps<Key>) {
  const change = useChange("POST /api/console/keys/:key_id/disable", KEY_READERS);
  const { key_id, name } = edited;
  return (
    <ConfirmForm
      name={name}
      confirmLabel="Disable permanently"
      done={`“${name}” was disabled`}
      onConfirm={() => change.mutateAsync({ params: { key_id }, body: { confirm_name: name } })}
      onClose={onClose}
    >
      <KeyAtStake shown={edited} />
      <Text size="sm">
        This is permanent: the key cannot be enabled again. It may still work for up to 5 seconds.
        After that, every request with it is rejected with 401.
      </Text>
    </ConfirmForm>
  );
}

/** Shows how the key differs from others with the same name, and whether it is still used. */
function KeyAtStake({ shown }: { readonly shown: Key }) {
  const { key_id, label, created_at, last_used_at } = shown;
  const detail = useAnswer("GET /api/console/keys/:key_id", { params: { key_id } });
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
