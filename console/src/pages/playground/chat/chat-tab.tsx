import { Button, Group, Text } from "@mantine/core";
import { Code, History, MessageSquarePlus, SlidersHorizontal } from "lucide-react";
import { lazy, Suspense, useMemo, useState, type ReactElement } from "react";

import type { Model } from "../../../../../src/console-api/contract.ts";
import { useSession } from "../../../api/use-session.ts";
import classes from "../playground.module.css";
import { chatMessages, sentParameters, takenKinds } from "./chat-request.ts";
import { ChatSettingsPanel } from "./chat-settings-panel.tsx";
import type { SnippetOf } from "../../../snippets/chat-snippets.ts";
import { Composer } from "./composer.tsx";
import { Thread } from "./thread.tsx";
import { useChat, type Chat } from "./use-chat.ts";

const CodeDialog = lazy(() => import("./code-dialog.tsx"));
const HistoryDrawer = lazy(() => import("./history-drawer.tsx"));

export interface ChatTabProps {
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
  readonly onModels: (modelIds: readonly string[]) => void;
}

/** Conversations with one model, or the same prompt to several side by side. */
export default function ChatTab({ models, modelIds, onModels }: ChatTabProps): ReactElement {
  const { org } = useSession();
  const chat = useChat({ orgId: org?.org_id ?? "", models, modelIds });
  const [dialog, setDialog] = useState<"code" | "history">();
  const [areSettingsOpen, setSettingsOpen] = useState(false);
  const { settings } = chat.conversation;
  const chosen = useMemo(
    () => settings.modelIds.flatMap((id) => models.filter((each) => each.id === id)),
    [models, settings.modelIds],
  );
  return (
    <div className={classes.split}>
      <section className={classes.main} aria-label="Conversation">
        <Group gap="xs" justify="space-between">
          <Group gap="xs">
            <Button
              variant="default"
              size="xs"
              leftSection={<MessageSquarePlus size={14} aria-hidden />}
              onClick={chat.startNew}
              disabled={chat.conversation.turns.length === 0}
            >
              New conversation
            </Button>
            <Button
              variant="default"
              size="xs"
              leftSection={<History size={14} aria-hidden />}
              onClick={() => setDialog("history")}
            >
              History
            </Button>
            <Button
              variant="default"
              size="xs"
              leftSection={<Code size={14} aria-hidden />}
              onClick={() => setDialog("code")}
              disabled={chosen.length === 0}
            >
              Get code
            </Button>
          </Group>
          <Button
            variant="default"
            size="xs"
            className={classes.settingsToggle}
            leftSection={<SlidersHorizontal size={14} aria-hidden />}
            aria-expanded={areSettingsOpen}
            onClick={() => setSettingsOpen(!areSettingsOpen)}
          >
            Models and parameters
          </Button>
        </Group>
        <Thread chat={chat} models={models} />
        <Composer
          isBusy={chat.isBusy}
          canSend={chosen.length > 0}
          kinds={takenKinds(chosen)}
          onSend={chat.say}
          onStop={chat.stop}
        />
        <Text size="xs" c="dimmed">
          {chat.isKept
            ? "Conversations are kept in this browser only. Prompts and answers are never stored on the server."
            : "This browser does not store conversations. They are lost when you leave the page."}
        </Text>
      </section>
      <aside
        className={classes.aside}
        data-open={areSettingsOpen}
        aria-label="Models and parameters"
      >
        <ChatSettingsPanel
          models={models}
          settings={settings}
          onChange={(change) => {
            chat.change(change);
            if (change.modelIds !== undefined) onModels(change.modelIds);
          }}
        />
      </aside>
      <Suspense fallback={null}>
        {dialog === "code" ? (
          <CodeDialog of={codeOf(chat, chosen)} onClose={() => setDialog(undefined)} />
        ) : null}
        {dialog === "history" ? (
          <HistoryDrawer
            orgId={org?.org_id ?? ""}
            openId={chat.conversation.id}
            onOpen={(kept) => {
              chat.open(kept);
              onModels(kept.settings.modelIds);
              setDialog(undefined);
            }}
            onForgotten={(id) => {
              if (id === chat.conversation.id) chat.startNew();
            }}
            onClose={() => setDialog(undefined)}
          />
        ) : null}
      </Suspense>
    </div>
  );
}

/** The call that was made last, or would be made first; of the first chosen model. */
function codeOf(chat: Chat, chosen: readonly Model[]): Omit<SnippetOf, "gatewayUrl"> {
  const { settings, turns } = chat.conversation;
  const model = chosen[0];
  const spoken = turns.length > 0 ? turns : [HELLO];
  return {
    modelId: model?.id ?? "",
    messages: chatMessages(model?.id ?? "", settings.system, spoken),
    parameters: model === undefined ? {} : sentParameters(model, settings.parameters),
  };
}

const HELLO = { id: "hello", text: "Hello", attachments: [], answers: [] };
