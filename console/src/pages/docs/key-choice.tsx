import { NativeSelect, PasswordInput, Stack, Text } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { toKeyStatus } from "../keys/match-keys.ts";
import { controlled } from "../../ui/controlled.ts";
import { isRawKey } from "./guide-blocks.ts";

const VARIABLE = "variable";
const PASTED = "pasted";

/**
 * Chooses the key that the examples show. The console has only the names of keys, so a raw key has
 * to be pasted. It stays in this page's memory, and is neither sent nor stored.
 */
export function KeyChoice(props: {
  readonly rawKey: string;
  readonly onRawKey: (rawKey: string) => void;
}): ReactElement {
  const isSignedIn = useSession().state === "signed_in";
  const keys = useAnswer("GET /api/console/keys", undefined, { enabled: isSignedIn });
  const [chosen, setChosen] = useState(VARIABLE);
  const [typed, setTyped] = useState("");
  const active = keys.data?.data.filter((each) => toKeyStatus(each) === "active") ?? [];
  const key = active.find(({ key_id: id }) => id === chosen);

  function choose(value: string): void {
    setChosen(value);
    setTyped("");
    props.onRawKey("");
  }
  function type(value: string): void {
    const text = value.trim();
    setTyped(text);
    props.onRawKey(isRawKey(text) ? text : "");
  }

  return (
    <Stack gap={4} miw={0} maw="min(60ch, 100%)">
      <NativeSelect
        label="Key in the code"
        size="xs"
        w="22rem"
        maw="100%"
        {...controlled(chosen, choose)}
        data={[
          { value: VARIABLE, label: `$${KEY_VARIABLE}` },
          ...active.map(({ key_id: value, name, label }) => ({
            value,
            label: `${name} (${label}…)`,
          })),
          { value: PASTED, label: "Paste a key" },
        ]}
      />
      {chosen === PASTED ? (
        <PasswordInput
          label="Pasted key"
          description="Stays in this page's memory. It is not sent or saved, and is gone when you leave this page."
          size="xs"
          w="22rem"
          maw="100%"
          autoComplete="off"
          {...controlled(typed, type)}
          error={
            typed === "" || isRawKey(typed)
              ? undefined
              : "Enter a whole key. It begins with tm_vk_."
          }
        />
      ) : (
        <Text size="sm" c="dimmed">
          {key === undefined
            ? `Set one of your keys as the environment variable ${KEY_VARIABLE}.`
            : `Set your key “${key.name}”, which begins with ${key.label}, as the environment variable ${KEY_VARIABLE}. It was shown once, when it was created.`}
        </Text>
      )}
    </Stack>
  );
}
