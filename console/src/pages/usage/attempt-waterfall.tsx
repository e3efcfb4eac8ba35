import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { RequestDetail } from "../../../../src/account/console-api/contract.ts";
import { formatMs } from "../../ui/count.tsx";
import styles from "./usage.module.css";
import { buildWaterfall, type WaterfallBar } from "./waterfall.ts";

export function AttemptWaterfall(props: { readonly detail: RequestDetail }): ReactElement {
  const { request, attempts } = props.detail;
  return (
    <ol className={styles.waterfall} aria-label="When each attempt ran">
      {buildWaterfall(request, attempts).map((bar) => (
        <li key={bar.n} className={styles.waterfallRow}>
          <Text span size="sm" className={styles.waterfallName}>
            {bar.n}. {bar.provider}
          </Text>
          <Bar bar={bar} />
          <Text span size="sm" c="dimmed" className={styles.waterfallTimes}>
            {describeTimes(bar)}
          </Text>
        </li>
      ))}
    </ol>
  );
}

function Bar({ bar }: { readonly bar: WaterfallBar }): ReactElement {
  const place = { left: percent(bar.from), width: percent(bar.width) };
  return (
    <span className={styles.waterfallTrack} aria-hidden>
      <span className={styles.waterfallBar} data-served={bar.isServed} style={place}>
        {bar.firstToken === null ? null : (
          <span className={styles.waterfallToken} style={{ left: percent(bar.firstToken) }} />
        )}
      </span>
    </span>
  );
}

function describeTimes({ fromMs, durationMs, firstTokenMs }: WaterfallBar): string {
  const began = `+${formatMs(fromMs)}`;
  const lasted = durationMs === null ? "still running" : `took ${formatMs(durationMs)}`;
  const first = firstTokenMs === null ? "" : `, first token after ${formatMs(firstTokenMs)}`;
  return `${began}, ${lasted}${first}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}
