import {
  ActionIcon,
  Button,
  Group,
  Modal,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { Trash2 } from "lucide-react";
import { useEffect, useState, type FormEvent, type ReactElement } from "react";

import { Copyable } from "../../../ui/copyable.tsx";
import { BrowserShelf } from "../browser-store.ts";
import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { ChatSettings } from "./chat-types.ts";
import { presetFragment } from "./preset.ts";

const PRESETS_MAX = 50;
const NAME_CHARS_MAX = 60;

interface Preset {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
  readonly name: string;
  readonly settings: ChatSettings;
}

const presets = new BrowserShelf<Preset>("presets", { count: PRESETS_MAX });

/** Settings to use again: as a link for others, or under a name in this browser. */
export default function PresetDialog(props: {
  readonly orgId: string;
  readonly settings: ChatSettings;
  readonly onOpen: (settings: ChatSettings) => void;
  readonly onClose: () => void;
}): ReactElement {
  const { orgId, settings } = props;
  const [kept, setKept] = useState<readonly Preset[]>([]);
  const [name, setName] = useState("");
  useEffect(() => {
    void presets.list(orgId).then(setKept);
  }, [orgId]);

  async function keep(event: FormEvent): Promise<void> {
    event.preventDefault();
    const id = kept.find((each) => each.name === name.trim())?.id ?? crypto.randomUUID();
    await presets.keep({ id, orgId, updatedAtMs: Date.now(), name: name.trim(), settings });
    setKept(await presets.list(orgId));
    setName("");
  }
  async function forget(id: string): Promise<void> {
    await presets.forget(id);
    setKept((before) => before.filter((each) => each.id !== id));
  }

  return (
    <Modal
      opened
      onClose={props.onClose}
      title="Presets"
      size="lg"
      closeButtonProps={{ "aria-label": "Close dialog" }}
    >
      <Stack gap="md">
        <ShareLink settings={settings} />
        <form onSubmit={(event) => void keep(event)}>
          <Group align="flex-end" gap="xs">
            <TextInput
              className={shared.grow}
              label="Save these settings as"
              value={name}
              maxLength={NAME_CHARS_MAX}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button type="submit" variant="default" disabled={name.trim() === ""}>
              Save preset
            </Button>
          </Group>
        </form>
        {kept.length === 0 ? (
          <Text size="sm" c="dimmed">
            No saved presets. They are kept in this browser only.
          </Text>
        ) : null}
        <Stack gap={4} component="ul" className={shared.plainList}>
          {kept.map((each) => (
            <li key={each.id}>
              <Group gap="xs" wrap="nowrap" justify="space-between">
                <UnstyledButton
                  className={classes.historyRow}
                  onClick={() => props.onOpen(each.settings)}
                >
                  <Text size="sm" truncate>
                    {each.name}
                  </Text>
                  <Text size="xs" c="dimmed" truncate>
                    {each.settings.modelIds.join(", ")}
                  </Text>
                </UnstyledButton>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Delete the preset ${each.name}`}
                  onClick={() => void forget(each.id)}
                >
                  <Trash2 size={16} aria-hidden />
                </ActionIcon>
              </Group>
            </li>
          ))}
        </Stack>
      </Stack>
    </Modal>
  );
}

function ShareLink({ settings }: { readonly settings: ChatSettings }): ReactElement {
  const { fragment, problem } = presetFragment(settings);
  if (fragment === undefined) {
    return (
      <Text size="sm" c="red" role="alert">
        {problem}
      </Text>
    );
  }
  const link = `${location.origin}/playground?tab=chat${fragment}`;
  return (
    <div>
      <Text size="sm" fw={500}>
        Link to these settings
      </Text>
      <Copyable value={link} label="preset link" short />
      <Text size="xs" c="dimmed">
        It contains models, system prompt, parameters, tools, schema, and routing, but no messages
        and no key. The part after # is never sent to a server.
      </Text>
    </div>
  );
}
