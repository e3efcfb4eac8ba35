import { ActionIcon, Button, FileButton, Group, Text, Textarea } from "@mantine/core";
import { Paperclip, Send, Square, X } from "lucide-react";
import { useRef, useState, type KeyboardEvent } from "react";

import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { Attachment } from "./chat-types.ts";
import { controlled, submitting } from "../../../ui/fields.ts";
import { acceptedTypes, readAttachment, attachmentProblem } from "./read-attachment.ts";
import { Note } from "../../../ui/page.tsx";

interface ComposerProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly isBusy: boolean;
  readonly mayAsk: boolean;
  /** While this is set, nothing can be sent. */
  readonly askProblem: string | undefined;
  readonly kinds: readonly Attachment["kind"][];
  /** Files of earlier messages. Every request sends them again, so they count toward the limits. */
  readonly sent: readonly Attachment[];
  readonly onSend: (text: string, attachments: readonly Attachment[]) => void;
  readonly onStop: () => void;
}

export function Composer(props: ComposerProps) {
  const { isBusy, mayAsk, askProblem, kinds, text, onText } = props;
  const [attached, setAttached] = useState<readonly Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const [readings, setReadings] = useState(0);
  const resetFiles = useRef<() => void>(null);
  const untaken = attached.find(({ kind }) => !kinds.includes(kind));
  const isSendable =
    mayAsk &&
    !isBusy &&
    askProblem === undefined &&
    untaken === undefined &&
    // A file that is still being read would otherwise go with the next message.
    readings === 0 &&
    (text.trim() !== "" || attached.length > 0);

  async function attach(files: readonly File[]): Promise<void> {
    const reason = attachmentProblem(files, { attached, sent: props.sent }, kinds);
    setProblem(reason);
    resetFiles.current?.();
    if (reason !== undefined) return;
    setReadings((count) => count + 1);
    const read = await Promise.all(files.map(async (file) => await readAttachment(file)));
    setReadings((count) => count - 1);
    setProblem(read.find((each) => typeof each === "string"));
    setAttached((before) => [...before, ...read.filter((each) => typeof each !== "string")]);
  }
  function send(): void {
    if (!isSendable) return;
    props.onSend(text, attached);
    onText("");
    setAttached([]);
    setProblem(undefined);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <form className={shared.composer} {...submitting(send)}>
      <AttachedFiles
        attached={attached}
        onRemove={(at) => setAttached(attached.filter((_each, index) => index !== at))}
      />
      <Textarea
        aria-label="Message"
        className={shared.message}
        placeholder="Write a message"
        {...controlled(text, onText)}
        onKeyDown={onKeyDown}
        maxRows={8}
        variant="unstyled"
        error={
          untaken === undefined
            ? (problem ?? askProblem)
            : `The selected models do not accept ${untaken.name}. Remove it.`
        }
      />
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          {kinds.length === 0 ? null : (
            <FileButton
              multiple
              accept={acceptedTypes(kinds)}
              resetRef={resetFiles}
              onChange={(files) => void attach(files)}
            >
              {(button) => (
                <ActionIcon {...button} variant="default" size="lg" aria-label="Attach files">
                  <Paperclip size={16} aria-hidden />
                </ActionIcon>
              )}
            </FileButton>
          )}
          <Note size="xs" visibleFrom="sm">
            Enter to send, Shift+Enter for a new line
          </Note>
        </Group>
        {isBusy ? (
          // The React keys differ, so that a press begun on one button cannot click the other.
          <Button
            key="stop"
            variant="default"
            leftSection={<Square size={14} aria-hidden />}
            onClick={props.onStop}
          >
            Stop
          </Button>
        ) : (
          <Button
            key="send"
            type="submit"
            leftSection={<Send size={14} aria-hidden />}
            disabled={!isSendable}
          >
            Send
          </Button>
        )}
      </Group>
    </form>
  );
}

function AttachedFiles(props: {
  readonly attached: readonly Attachment[];
  readonly onRemove: (at: number) => void;
}) {
  if (props.attached.length === 0) return null;
  return (
    <ul className={classes.attached} aria-label="Attached files">
      {props.attached.map((each, at) => (
        <li key={`${each.name} ${at}`} className={classes.attachedFile}>
          <FilePreview attachment={each} />
          <ActionIcon
            size="xs"
            variant="default"
            aria-label={`Remove ${each.name}`}
            onClick={() => props.onRemove(at)}
          >
            <X size={12} aria-hidden />
          </ActionIcon>
        </li>
      ))}
    </ul>
  );
}

export function FilePreview({ attachment }: { readonly attachment: Attachment }) {
  const { kind, name, dataUrl } = attachment;
  return kind === "image" ? (
    <img src={dataUrl} alt={name} className={classes.thumbnail} />
  ) : (
    <Text size="xs" span className={classes.fileName}>
      {name}
    </Text>
  );
}
