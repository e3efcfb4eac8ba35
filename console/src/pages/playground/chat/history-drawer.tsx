import { Drawer } from "@mantine/core";

import { Time } from "../../../ui/time.tsx";
import { KeptList } from "../kept-list.tsx";
import { useShelf } from "../browser-store.ts";
import type { Conversation } from "./chat-types.ts";
import { conversations } from "./use-chat.ts";
import { Note } from "../../../ui/page.tsx";

export default function HistoryDrawer(props: {
  readonly orgId: string;
  readonly openId: string;
  readonly onOpen: (conversation: Conversation) => void;
  readonly onForgotten: (id: string) => void;
  readonly onClose: () => void;
}) {
  const { records, forget } = useShelf(conversations, props.orgId);
  return (
    <Drawer
      opened
      onClose={props.onClose}
      position="right"
      title="Conversations in this browser"
      closeButtonProps={{ "aria-label": "Close conversations" }}
    >
      {records?.length === 0 ? (
        <Note>
          No conversations yet. The last {conversations.countMax} are kept in this browser only.
        </Note>
      ) : null}
      <KeptList
        noun="conversation"
        records={records ?? []}
        title={({ title }) => title}
        detail={({ updatedAtMs, settings }) => (
          <>
            <Time at={new Date(updatedAtMs).toISOString()} /> · {settings.modelIds.join(", ")}
          </>
        )}
        openId={props.openId}
        onOpen={props.onOpen}
        onForget={(id) => {
          forget(id);
          props.onForgotten(id);
        }}
      />
    </Drawer>
  );
}
