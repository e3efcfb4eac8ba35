import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";

import { BrowserShelf, newId, useShelf, type Kept } from "../browser-store.ts";
import { KeptList } from "../kept-list.tsx";
import shared from "../playground.module.css";
import { controlled, submitting } from "../../../ui/fields.ts";
import type { ChatSettings } from "./chat-types.ts";
import { Note } from "../../../ui/page.tsx";

const PRESETS_MAX = 50;
const NAME_CHARS_MAX = 60;

interface Preset extends Kept {
  readonly name: string;
  readonly settings: ChatSettings;
}

const presets = new BrowserShelf<Preset>("presets", PRESETS_MAX);

export default function PresetDialog(props: {
  readonly orgId: string;
  readonly settings: ChatSettings;
  readonly onOpen: (settings: ChatSettings) => void;
  readonly onClose: () => void;
}) {
  const { orgId, settings } = props;
  const { records = [], keep, forget } = useShelf(presets, orgId);
  const [typed, setTyped] = useState("");
  const name = typed.trim();

  function save(): void {
    const id = records.find((each) => each.name === name)?.id ?? newId();
    keep({ id, orgId, updatedAtMs: Date.now(), name, settings });
    setTyped("");
  }

  return (
    <Modal opened onClose={props.onClose} title="Presets" size="lg">
      <Stack gap="md">
        <form {...submitting(save)}>
          <Group align="flex-end" gap="xs">
            <TextInput
              className={shared.grow}
              label="Save these settings as"
              {...controlled(typed, setTyped)}
              maxLength={NAME_CHARS_MAX}
            />
            <Button type="submit" variant="default" disabled={name === ""}>
              Save preset
            </Button>
          </Group>
        </form>
        {records.length === 0 ? (
          <Note>No saved presets. They are kept in this browser only.</Note>
        ) : null}
        <KeptList
          noun="preset"
          records={records}
          title={(preset) => preset.name}
          detail={(preset) => preset.settings.modelIds.join(", ")}
          onOpen={(preset) => props.onOpen(preset.settings)}
          onForget={forget}
        />
      </Stack>
    </Modal>
  );
}
