import { Badge } from "@mantine/core";
import { Circle, CircleAlert, CircleCheck, CircleX } from "lucide-react";
import type { ReactNode } from "react";

import kit from "./kit.module.css";

export type Tone = "ok" | "warn" | "bad" | "quiet";

/** A state in a few words. Its icon differs in shape as well as color, for color-blind readers. */
export function StatusBadge(props: { readonly tone: Tone; readonly children: ReactNode }) {
  const Mark = MARKS[props.tone];
  return (
    <Badge
      className={kit.badge}
      leftSection={<Mark size={12} aria-hidden className={kit[`tone-${props.tone}`]} />}
    >
      {props.children}
    </Badge>
  );
}

const MARKS = { ok: CircleCheck, warn: CircleAlert, bad: CircleX, quiet: Circle } as const;
