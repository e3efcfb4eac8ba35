import { Code, Stack, Text } from "@mantine/core";

import type { Refusal, RefusalReason, RequestDetail } from "../../api/contract.ts";
import { RepairLink } from "../../app/repair-link.tsx";
import { formatCount } from "../../ui/format.ts";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList, type SomeFacts } from "../models/fact-list.tsx";
import { errorAdvice } from "./attempt-labels.ts";
import styles from "./usage.module.css";

/** Says why a request was refused, failed or was cancelled. Other requests get no text. */
export function EndingReasons({ detail }: { readonly detail: RequestDetail }) {
  const { request, refusal } = detail;
  if (refusal !== null) return <RefusalReasons refusal={refusal} />;
  const advice = errorAdvice(request);
  return advice === undefined ? null : <div className={styles.moved}>{advice}</div>;
}

export function RefusalReasons({ refusal }: { readonly refusal: Refusal }) {
  const { explanation, action, key_id: target, reason } = refusal;
  return (
    <div className={styles.moved}>
      <Text mb="xs">{explanation}</Text>
      <Stack gap="sm">
        {action === null ? null : (
          <div>
            <RepairLink action={action} target={target} isButton />
          </div>
        )}
        {reason === null ? null : <FactList facts={listFacts(reason)} />}
      </Stack>
    </div>
  );
}

function listFacts(reason: RefusalReason): SomeFacts {
  const { limit_scope: scope, limit_kind: kind, retry_after } = reason;
  const period = reason.cap_period === undefined ? "month" : `${reason.cap_period} (UTC)`;
  return [
    ["HTTP status", reason.status],
    ["Sent again unchanged", reason.retryable ? "It may pass" : "It is rejected again"],
    scope !== undefined && ["Limit", <Code>{[scope, kind].filter(Boolean).join(" · ")}</Code>],
    reason.limit !== undefined && kind !== "models" && ["Allowed", formatCount(reason.limit)],
    reason.used !== undefined && ["Used at that moment", formatCount(reason.used)],
    reason.asked !== undefined && ["This request", formatCount(reason.asked)],
    ...AMOUNTS.map(([name, label]) => {
      const usd = reason[name];
      const shown = name === "spent_usd" ? `Spent this ${period}` : label;
      return usd !== undefined && ([shown, <Money usd={usd} />] as const);
    }),
    retry_after !== undefined && reason.retryable && ["Retry after", `${retry_after} s`],
    reason.retry_at !== undefined && ["Retry at", <Time at={reason.retry_at} precision="second" />],
    reason.reset_at !== undefined && ["Cap resets", <Time at={reason.reset_at} />],
  ];
}

const AMOUNTS = [
  ["cap_usd", "Cap"],
  ["spent_usd", "Spent"],
  ["available_usd", "Available"],
  ["in_flight_usd", "In progress"],
  ["needed_usd", "Maximum cost"],
] as const;
