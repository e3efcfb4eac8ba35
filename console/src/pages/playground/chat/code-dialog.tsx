import { Modal, Stack } from "@mantine/core";
import { useState } from "react";

import { useSession } from "../../../api/use-answer.ts";
import { CallSnippets, KEY_NOTE } from "../../../snippets/call-snippets.tsx";
import { chatSnippets, type SnippetOf } from "../../../snippets/chat-snippets.ts";
import { FilterChips } from "../../../ui/filter-chips.tsx";

export interface CodeCall {
  readonly name: string;
  readonly of: Omit<SnippetOf, "gatewayUrl">;
}

export default function CodeDialog(props: {
  readonly calls: readonly CodeCall[];
  readonly onClose: () => void;
}) {
  const { calls } = props;
  const { gateway_url: gatewayUrl } = useSession().installation;
  const [modelId, setModelId] = useState<string>();
  const call = calls.find(({ of }) => of.modelId === modelId) ?? calls[0];
  return (
    <Modal opened onClose={props.onClose} title="Code for this request" size="xl">
      <Stack gap="sm">
        {calls.length > 1 ? (
          <FilterChips
            label="Model"
            options={calls.map(({ name, of }) => ({ value: of.modelId, label: name }))}
            value={call?.of.modelId ?? ""}
            onChange={setModelId}
          />
        ) : null}
        {call === undefined ? null : (
          <CallSnippets
            of={(wire) => chatSnippets(wire, { ...call.of, gatewayUrl, isStream: true })}
            note={KEY_NOTE}
          />
        )}
      </Stack>
    </Modal>
  );
}
