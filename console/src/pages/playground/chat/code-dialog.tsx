import { Modal } from "@mantine/core";
import type { ReactElement } from "react";

import { useSession } from "../../../api/use-session.ts";
import { CallSnippets } from "../../../snippets/call-snippets.tsx";
import { chatSnippets, KEY_HINT, type SnippetOf } from "../../../snippets/chat-snippets.ts";
import { AppLink } from "../../../ui/app-link.tsx";

/** This conversation as a program would send it. */
export default function CodeDialog(props: {
  readonly of: Omit<SnippetOf, "gatewayUrl">;
  readonly onClose: () => void;
}): ReactElement {
  const { gateway_url: gatewayUrl } = useSession().installation;
  return (
    <Modal
      opened
      onClose={props.onClose}
      title="Code for this request"
      size="xl"
      closeButtonProps={{ "aria-label": "Close dialog" }}
    >
      <CallSnippets
        of={(wire) => chatSnippets(wire, { ...props.of, gatewayUrl, isStream: true })}
        note={
          <>
            {KEY_HINT} <AppLink to="/keys">Create a key</AppLink>
          </>
        }
      />
    </Modal>
  );
}
