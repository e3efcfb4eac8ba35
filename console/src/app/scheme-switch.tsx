import { ActionIcon, useMantineColorScheme } from "@mantine/core";
import { Monitor, Moon, Sun } from "lucide-react";
import type { ReactElement } from "react";
import { Tip } from "../ui/tip.tsx";

const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
const MARKS = { auto: Monitor, light: Sun, dark: Moon } as const;
const WORDS = { auto: "system", light: "light", dark: "dark" } as const;

export function SchemeSwitch(): ReactElement {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Mark = MARKS[colorScheme];
  const label = `Appearance: ${WORDS[colorScheme]}. Change to ${WORDS[NEXT[colorScheme]]}`;
  return (
    <Tip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(NEXT[colorScheme])}
      >
        <Mark size={18} aria-hidden />
      </ActionIcon>
    </Tip>
  );
}
