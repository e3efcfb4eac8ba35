import { Progress, Text } from "@mantine/core";

import type { LimitValue } from "../../api/contract.ts";
import { formatCount } from "../../ui/format.ts";
import { Note } from "../../ui/page.tsx";

export function UsedBar({ used, effective }: LimitValue) {
  if (used === null || effective === null) {
    return (
      <Note size="xs" miw={WIDTH_PX}>
        {used === null ? "unknown" : formatCount(used)}
      </Note>
    );
  }
  return (
    <div style={{ minWidth: WIDTH_PX }}>
      <Text size="xs" style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
        {formatCount(used)} of {formatCount(effective)}
      </Text>
      <ShareBar share={effective === 0 ? 1 : used / effective} />
    </div>
  );
}

const WIDTH_PX = 130;

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
