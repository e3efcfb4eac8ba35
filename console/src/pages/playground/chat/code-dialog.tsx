import { Modal, Stack, Text } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { useSession } from "../../../api/use-session.ts";
import { AppLink } from "../../../ui/app-link.tsx";
import { CodeTabs } from "../../../ui/code-tabs.tsx";
import { FilterChips } from "../../../ui/filter-chips.tsx";
import { codeSamples, type CodeOf, type CodeWire } from "./code-samples.ts";

/** This conversation as a program would send it. */
export default function CodeDialog(props: {
  readonly of: Omit<CodeOf, "gatewayUrl">;
  readonly onClose: () => void;
}): ReactElement {
  const { gateway_url: gatewayUrl } = useSession().installation;
  const [wire, setWire] = useState<CodeWire>("chat");
  return (
    <Modal
      opened
      onClose={props.onClose}
      title="Code for this call"
      size="xl"
      closeButtonProps={{ "aria-label": "Close dialog" }}
    >
      <Stack gap="md">
        <FilterChips
          label="Interface"
          options={[
            { value: "chat", label: "Chat completions" },
            { value: "messages", label: "Messages" },
          ]}
          value={wire}
          onChange={setWire}
        />
        <CodeTabs key={wire} tabs={codeSamples(wire, { ...props.of, gatewayUrl })} />
        <Text size="sm" c="dimmed">
          Put one of your keys into the environment variable TM_KEY; create keys on the{" "}
          <AppLink to="/keys">Keys page</AppLink>. Every model answers on both interfaces.
        </Text>
      </Stack>
    </Modal>
  );
}
