import { Code, Stack, Text } from "@mantine/core";
import type { ReactElement } from "react";

import type {
  Refusal,
  RefusalReason,
  RequestDetail,
} from "../../../../src/account/console-api/contract.ts";
import { RepairButton } from "../../app/repair-link.tsx";
import { formatCount } from "../../ui/count.tsx";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList, type FactListProps } from "../models/fact-list.tsx";
import { errorAdvice } from "./attempt-labels.ts";
import styles from "./usage.module.css";

/** Says why a request failed or was refused, and what to do. Renders nothing if it succeeded. */
export function EndingReasons({ detail }: { readonly detail: RequestDetail }): ReactElement | null {
  const { request, refusal } = detail;
  if (refusal !== null) return <RefusalReasons refusal={refusal} />;
  const advice = errorAdvice(request);
  return advice === undefined ? null : <div className={styles.moved}>{advice}</div>;
}

export function RefusalReasons({ refusal }: { readonly refusal: Refusal }): ReactElement {
  const { explanation, action, key_id: target, reason } = refusal;
  return (
    <div className={styles.moved}>
      <Text mb="xs">{explanation}</Text>
      <Stack gap="sm">
        {action === null ? null : (
          <div>
            <RepairButton action={action} target={target} />
          </div>
        )}
        {reason === null ? null : <FactList facts={listFacts(reason)} />}
      </Stack>
    </div>
  );
}

function listFacts(reason: RefusalReason): FactListProps["facts"] {
  const { limit_scope: scope, limit_kind: kind, retry_after } = reason;
  const period = reason.cap_period === undefined ? "month" : `${reason.cap_period} (UTC)`;
  return [
    { label: "HTTP status", value: reason.status },
    {
      label: "Sent again unchanged",
      value: reason.retryable ? "It may pass" : "It is rejected again",
    },
    ...(scope === undefined
      ? []
      : [{ label: "Limit", value: <Code>{[scope, kind].filter(Boolean).join(" · ")}</Code> }]),
    ...(reason.limit === undefined || kind === "models"
      ? []
      : [{ label: "Allowed", value: formatCount(reason.limit) }]),
    ...(reason.used === undefined
      ? []
      : [{ label: "Used at that moment", value: formatCount(reason.used) }]),
    ...(reason.asked === undefined
      ? []
      : [{ label: "This request", value: formatCount(reason.asked) }]),
    ...AMOUNTS.flatMap(({ label, name }) => {
      const usd = reason[name];
      const shown = name === "spent_usd" ? `Spent this ${period}` : label;
      return usd === undefined ? [] : [{ label: shown, value: <Money usd={usd} /> }];
    }),
    ...(retry_after === undefined || !reason.retryable
      ? []
      : [{ label: "Retry after", value: `${retry_after} s` }]),
    ...(reason.retry_at === undefined
      ? []
      : [{ label: "Retry at", value: <Time at={reason.retry_at} precision="second" /> }]),
    ...(reason.reset_at === undefined
      ? []
      : [{ label: "Cap resets", value: <Time at={reason.reset_at} /> }]),
  ];
}

const AMOUNTS = [
  { label: "Cap", name: "cap_usd" },
  { label: "Spent", name: "spent_usd" },
  { label: "Available", name: "available_usd" },
  { label: "In progress", name: "in_flight_usd" },
  { label: "Maximum cost", name: "needed_usd" },
] as const;
