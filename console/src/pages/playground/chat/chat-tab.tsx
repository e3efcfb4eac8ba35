import { Group } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import {
  Bookmark,
  Code,
  History,
  MessageSquarePlus,
  SlidersHorizontal,
  type LucideIcon,
} from "lucide-react";

import type { Model } from "../../../api/contract.ts";
import { useMay, useSession } from "../../../api/use-answer.ts";
import type { TabProps } from "../tab-props.ts";
import shared from "../playground.module.css";
import type { CodeCall } from "./code-dialog.tsx";
import { askProblem, chatMessages, requestParameters, takenKinds } from "./chat-request.ts";
import { ChatSettingsPanel } from "./chat-settings-panel.tsx";
import type { ChatSettings, Turn } from "./chat-types.ts";
import classes from "./chat.module.css";
import { Composer } from "./composer.tsx";
import { untakenBy } from "./read-attachment.ts";
import { Thread } from "./thread.tsx";
import { useChat, type Chat } from "./use-chat.ts";
import { SmallButton } from "../../../ui/buttons.tsx";
import { Note } from "../../../ui/page.tsx";

const CodeDialog = lazy(() => import("./code-dialog.tsx"));
const HistoryDrawer = lazy(() => import("./history-drawer.tsx"));
const PresetDialog = lazy(() => import("./preset-dialog.tsx"));

export default function ChatTab(props: TabProps) {
  const { models, modelIds, isNamed, onModels } = props;
  const orgId = useSession().org?.org_id ?? "";
  const chat = useChat({
    orgId,
    models,
    settings: { modelIds, system: "", parameters: {} },
    mayReopen: (kept) => !isNamed || kept.settings.modelIds.join() === modelIds.join(),
  });
  const [text, setText] = useState("");
  const [dialog, setDialog] = useState<ChatDialog>();
  const [areSettingsOpen, setSettingsOpen] = useState(() => matchMedia(WIDE).matches);
  const { settings, turns } = chat.conversation;
  const chosen = settings.modelIds.flatMap((id) => models.filter((each) => each.id === id));
  const problem = askProblem(chosen, settings);
  const mayAsk = useMay("keys") && problem === undefined;
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
          areSettingsOpen={areSettingsOpen}
          onSettings={setSettingsOpen}
          onNew={chat.startNew}
          onDialog={setDialog}
        />
        <Thread chat={chat} models={models} mayAsk={mayAsk} onExample={setText} />
        <Composer
          text={text}
          onText={setText}
          isBusy={chat.isBusy}
          mayAsk={mayAsk}
          askProblem={problem ?? untakenBy(chosen, turns)}
          kinds={takenKinds(chosen)}
          sent={sent}
          onSend={chat.say}
          onStop={chat.stop}
        />
        <Note size="xs" className={classes.kept}>
          {chat.isKept
            ? "Conversations are kept in this browser only. Prompts and answers are never stored on the server."
            : "This browser does not store conversations. They are lost when you leave the page."}
        </Note>
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
          <CodeDialog calls={chosen.map((model) => buildCode(chat, model))} onClose={close} />
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
              if (id === chat.conversation.id) chat.drop();
            }}
            onClose={close}
          />
        ) : null}
      </Suspense>
    </div>
  );
}

/** A preset is applied on top of these values, so that no earlier setting remains. */
const NOTHING_SET = { own: {}, tools: "", schema: "", isReasoningOff: false, routing: {} };

/** In narrower windows, the settings would cover the conversation, so they are closed at first. */
const WIDE = "(min-width: 62.01em)";

/** Code for the conversation so far, or else for a sample message. */
function buildCode(chat: Chat, model: Model): CodeCall {
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

type ChatDialog = "code" | "history" | "presets";

function ChatTools(props: {
  readonly isEmpty: boolean;
  readonly hasModel: boolean;
  readonly areSettingsOpen: boolean;
  readonly onSettings: (areOpen: boolean) => void;
  readonly onNew: () => void;
  readonly onDialog: (dialog: ChatDialog) => void;
}) {
  const { areSettingsOpen, onDialog } = props;
  return (
    <div className={classes.tools}>
      <Group gap={6}>
        <Tool
          icon={MessageSquarePlus}
          label="New conversation"
          onClick={props.onNew}
          disabled={props.isEmpty}
        />
        <Tool icon={History} label="History" onClick={() => onDialog("history")} />
        <Tool icon={Bookmark} label="Presets" onClick={() => onDialog("presets")} />
        <Tool
          icon={Code}
          label="Get code"
          onClick={() => onDialog("code")}
          disabled={!props.hasModel}
        />
      </Group>
      <SmallButton
        leftSection={<SlidersHorizontal size={14} aria-hidden />}
        aria-expanded={areSettingsOpen}
        onClick={() => props.onSettings(!areSettingsOpen)}
      >
        Models and parameters
      </SmallButton>
    </div>
  );
}

/** On phones, only the icon is shown. */
function Tool(props: {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
}) {
  const { icon: Icon, label, onClick, disabled = false } = props;
  return (
    <SmallButton aria-label={label} {...{ onClick, disabled }}>
      <Icon size={14} aria-hidden />
      <span className={classes.toolName}>{label}</span>
    </SmallButton>
  );
}
