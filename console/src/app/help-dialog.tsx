import { Kbd, Modal, Stack, Switch, Title } from "@mantine/core";
import type { ReactNode } from "react";

import "./more-styles.ts";
import { useSession } from "../api/use-answer.ts";
import { PLACES, placesFor } from "./places.ts";
import shell from "./shell.module.css";
import { singleKeys } from "../ui/browser-switch.ts";
import { checkable } from "../ui/fields.ts";

export default function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const session = useSession();
  const [areOn, setOn] = singleKeys.use();
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts">
      <Stack gap="md">
        <dl className={shell.keys}>
          <Line label="Search pages, keys, and models">
            <Kbd>Ctrl</Kbd> or <Kbd>⌘</Kbd> <Kbd>K</Kbd>
          </Line>
          <Line label="Search this list">
            <Kbd>/</Kbd>
          </Line>
          <Line label="This help">
            <Kbd>?</Kbd>
          </Line>
          <Line label="Close a dialog">
            <Kbd>Esc</Kbd>
          </Line>
        </dl>
        <Title order={3} size="h5">
          Go to
        </Title>
        <dl className={shell.keys}>
          {placesFor(PLACES, session).map(({ to, label, letter }) => (
            <Line key={to} label={label}>
              <Kbd>g</Kbd> <Kbd>{letter}</Kbd>
            </Line>
          ))}
        </dl>
        <Switch
          label="Single-key shortcuts"
          description="Off: only the search shortcut and Esc work. Stored in this browser."
          {...checkable(areOn, setOn)}
        />
      </Stack>
    </Modal>
  );
}

function Line(props: { readonly label: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </>
  );
}
