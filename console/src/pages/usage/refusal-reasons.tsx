import { Code, Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { Refusal, RefusalReason } from "../../../../src/account/console-api/contract.ts";
import { RepairButton } from "../../app/repair-link.tsx";
import { formatCount } from "../../ui/count.tsx";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList, type FactListProps } from "../models/fact-list.tsx";
import styles from "./usage.module.css";

/** Why the gateway refused a request: the explanation, what to do, and the figures it compared. */
export function RefusalReasons({ refusal }: { readonly refusal: Refusal }): ReactElement {
  const { explanation, action, key_id: target, reason } = refusal;
  return (
    <div className={styles.moved}>
      <Text mb="xs">{explanation}</Text>
      {action === null ? null : <RepairButton action={action} target={target} />}
      {reason === null ? null : <FactList facts={factsOf(reason)} />}
    </div>
  );
}

function factsOf(reason: RefusalReason): FactListProps["facts"] {
  const { limit_scope: scope, limit_kind: kind, limit_id: id, retry_after } = reason;
  return [
    { label: "HTTP status", value: reason.status },
    { label: "Retryable", value: reason.retryable ? "Yes" : "No" },
    ...(scope === undefined
      ? []
      : [{ label: "Limit", value: <Code>{[scope, kind, id].filter(Boolean).join(" · ")}</Code> }]),
    ...(reason.limit === undefined ? [] : [{ label: "Allowed", value: formatCount(reason.limit) }]),
    ...(reason.used === undefined
      ? []
      : [{ label: "Used at that moment", value: formatCount(reason.used) }]),
    ...(reason.asked === undefined
      ? []
      : [{ label: "This request", value: formatCount(reason.asked) }]),
    ...AMOUNTS.flatMap(({ label, name }) => {
      const usd = reason[name];
      return usd === undefined ? [] : [{ label, value: <Money usd={usd} /> }];
    }),
    ...(retry_after === undefined ? [] : [{ label: "Retry after", value: `${retry_after} s` }]),
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
  { label: "Spent this month", name: "spent_usd" },
  { label: "Available", name: "available_usd" },
  { label: "In progress", name: "in_flight_usd" },
  { label: "Maximum cost", name: "needed_usd" },
] as const;
