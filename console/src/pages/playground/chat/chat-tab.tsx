import { Alert, Text } from "@mantine/core";
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ReactElement } from "react";

import type { Model } from "../../../../../src/console-api/contract.ts";
import { useSession } from "../../../api/use-session.ts";
import shared from "../playground.module.css";
import type { CodeCall } from "./code-dialog.tsx";
import { chatMessages, requestParameters, takenKinds } from "./chat-request.ts";
import { ChatSettingsPanel } from "./chat-settings-panel.tsx";
import { ChatTools, type ChatDialog } from "./chat-tools.tsx";
import type { ChatSettings, Turn } from "./chat-types.ts";
import classes from "./chat.module.css";
import { Composer } from "./composer.tsx";
import { KeptFragment } from "../../../app/kept-fragment.ts";
import { readPreset } from "./preset.ts";
import { untakenProblem } from "./read-attachment.ts";
import { settingsProblem } from "./request-structures.ts";
import { Thread } from "./thread.tsx";
import { ConversationTotals } from "./totals-line.tsx";
import { useChat, type Chat } from "./use-chat.ts";

const CodeDialog = lazy(() => import("./code-dialog.tsx"));
const HistoryDrawer = lazy(() => import("./history-drawer.tsx"));
const PresetDialog = lazy(() => import("./preset-dialog.tsx"));

export interface ChatTabProps {
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
  readonly isNamed: boolean;
  readonly onModels: (modelIds: readonly string[]) => void;
}

/** Conversations with one model, or the same prompt to several side by side. */
export default function ChatTab(props: ChatTabProps): ReactElement {
  const { models, onModels } = props;
  const { org } = useSession();
  const orgId = org?.org_id ?? "";
  const { chat, presetProblem } = useChatOfAddress(orgId, props);
  const [dialog, setDialog] = useState<ChatDialog>();
  const [isRaw, setRaw] = useState(false);
  const [areSettingsOpen, setSettingsOpen] = useState(() => matchMedia(WIDE).matches);
  const { settings, turns } = chat.conversation;
  const chosen = useMemo(
    () => settings.modelIds.flatMap((id) => models.filter((each) => each.id === id)),
    [models, settings.modelIds],
  );
  const sent = useMemo(() => turns.flatMap(({ attachments }) => attachments), [turns]);
  function change(changed: Partial<ChatSettings>): void {
    chat.change(changed);
    if (changed.modelIds !== undefined) onModels(changed.modelIds);
  }
  const close = (): void => setDialog(undefined);
  return (
    <div className={classes.room} data-open={areSettingsOpen}>
      <section className={classes.stage} aria-label="Conversation">
        <ChatTools
          isEmpty={turns.length === 0}
          hasModel={chosen.length > 0}
          isRaw={isRaw}
          onRaw={setRaw}
          areSettingsOpen={areSettingsOpen}
          onSettings={setSettingsOpen}
          onNew={chat.startNew}
          onDialog={setDialog}
        />
        {presetProblem === undefined ? null : (
          <Alert color="yellow" variant="light" py={6}>
            {presetProblem}
          </Alert>
        )}
        <Thread chat={chat} models={models} isRaw={isRaw} />
        {turns.length === 0 ? null : <ConversationTotals turns={turns} />}
        <Composer
          isBusy={chat.isBusy}
          canSend={chosen.length > 0}
          settingsProblem={settingsProblem(settings) ?? untakenBy(chosen, turns)}
          kinds={takenKinds(chosen)}
          sent={sent}
          onSend={chat.say}
          onStop={chat.stop}
        />
        <Text size="xs" c="dimmed" className={classes.kept}>
          {chat.isKept
            ? "Conversations are kept in this browser only. Prompts and answers are never stored on the server."
            : "This browser does not store conversations. They are lost when you leave the page."}
        </Text>
      </section>
      <aside
        className={`${shared.aside} ${classes.aside}`}
        data-open={areSettingsOpen}
        aria-label="Models and parameters"
      >
        <ChatSettingsPanel models={models} settings={settings} onChange={change} />
      </aside>
      <Suspense fallback={null}>
        {dialog === "code" ? (
          <CodeDialog calls={chosen.map((model) => codeOf(chat, model))} onClose={close} />
        ) : null}
        {dialog === "presets" ? (
          <PresetDialog
            orgId={orgId}
            settings={settings}
            onOpen={(preset) => {
              change({ ...NOTHING_SET, ...preset });
              close();
            }}
            onClose={close}
          />
        ) : null}
        {dialog === "history" ? (
          <HistoryDrawer
            orgId={orgId}
            openId={chat.conversation.id}
            onOpen={(kept) => {
              chat.open(kept);
              onModels(kept.settings.modelIds);
              close();
            }}
            onForgotten={(id) => {
              if (id === chat.conversation.id) chat.startNew();
            }}
            onClose={close}
          />
        ) : null}
      </Suspense>
    </div>
  );
}

/** What one of the chosen models cannot be sent of the conversation. */
function untakenBy(chosen: readonly Model[], turns: readonly Turn[]): string | undefined {
  return chosen.map((model) => untakenProblem(model, turns)).find((each) => each !== undefined);
}

/** A preset replaces what was set before, also where it sets nothing. */
const NOTHING_SET = { own: {}, tools: "", schema: "", isReasoningOff: false, routing: {} };

/** Below it the settings lie over the conversation, and are closed at first. */
const WIDE = "(min-width: 62.01em)";

/** The conversation that the address asks for: of a preset, of its models, or as it was left. */
function useChatOfAddress(
  orgId: string,
  props: ChatTabProps,
): { readonly chat: Chat; readonly presetProblem: string | undefined } {
  const { models, modelIds, isNamed, onModels } = props;
  const [preset] = useState(
    () => readPreset(location.hash, models) ?? readPreset(KeptFragment.read(Date.now()), models),
  );
  useEffect(() => KeptFragment.forget(), []);
  const chat = useChat({
    orgId,
    models,
    settings: preset?.settings ?? { modelIds, system: "", parameters: {} },
    mayReopen: ({ settings }) =>
      preset?.settings === undefined && (!isNamed || settings.modelIds.join() === modelIds.join()),
  });
  const taken = useRef(false);
  useEffect(() => {
    // Once: the address then shows the models in place of the preset, and a reload the conversation.
    if (taken.current || preset?.settings === undefined) return;
    taken.current = true;
    onModels(preset.settings.modelIds);
  }, [preset, onModels]);
  return { chat, presetProblem: preset?.problem };
}

/** The call that was made last, or would be made first. */
function codeOf(chat: Chat, model: Model): CodeCall {
  const { settings, turns } = chat.conversation;
  const spoken = turns.length > 0 ? turns : [HELLO];
  return {
    name: model.name,
    of: {
      modelId: model.id,
      messages: chatMessages(model.id, settings.system, spoken),
      parameters: requestParameters(model, settings),
    },
  };
}

const HELLO: Turn = { id: "hello", text: "Hello", attachments: [], answers: [] };
