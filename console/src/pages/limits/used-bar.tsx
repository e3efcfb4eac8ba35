import { Progress, Text } from "@mantine/core";

import type { LimitValue } from "../../api/contract.ts";
import { formatCount } from "../../ui/format.ts";
import { Note } from "../../ui/note.tsx";

export function UsedBar(props: { readonly value: LimitValue; readonly miw?: number }) {
  const { used, effective } = props.value;
  if (used === null) {
    return (
      <Note size="xs" miw={props.miw}>
        unknown
      </Note>
    );
  }
  if (effective === null) {
    return (
      <Note size="xs" miw={props.miw}>
        {formatCount(used)}
      </Note>
    );
  }
  return (
    <div style={{ minWidth: props.miw }}>
      <Text size="xs" style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
        {formatCount(used)} of {formatCount(effective)}
      </Text>
      <ShareBar share={effective === 0 ? 1 : used / effective} />
    </div>
  );
}

/** Draws a share from 0 to 1. Screen readers skip the bar and read the figures next to it. */
export function ShareBar({ share }: { readonly share: number }) {
  const percent = Math.min(100, Math.max(0, share * 100));
  return (
    <Progress
      value={percent}
      size="sm"
      mt={4}
      {...(percent >= 90 ? { color: "red" } : percent >= 70 ? { color: "yellow" } : {})}
      aria-hidden
    />
  );
}
