import type { ReactElement } from "react";

import type {
  CheckFlaw,
  ConformanceRun,
  ListingTrust,
} from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { CheckMark } from "./check-mark.tsx";
import { CHECK_STATUS, checkName, RUN_SOURCE, RUN_VERDICT } from "./verification-labels.ts";
import styles from "./verification.module.css";

export function RunHistory({ provider, model }: ListingTrust): ReactElement {
  const runs = useAnswer("GET /api/console/verification/runs", { query: { provider, model } });
  return (
    <Answer of={runs} rows={3}>
      {(answer) => (
        <DataTable
          caption={`Last conformance runs of ${model}`}
          columns={COLUMNS}
          rows={answer.runs}
          rowKey={({ checked_at, source }) => `${checked_at} ${source}`}
          empty="No conformance runs yet."
        />
      )}
    </Answer>
  );
}

function Flaws({ flaws }: { readonly flaws: readonly CheckFlaw[] }): ReactElement {
  if (flaws.length === 0) return <>nothing</>;
  return (
    <ul className={styles.flaws}>
      {flaws.map((flaw) => (
        <li key={flaw.id}>
          <CheckMark status={flaw.status} />
          <span>
            {checkName(flaw)}, {CHECK_STATUS[flaw.status].word}: {flaw.message}
          </span>
        </li>
      ))}
    </ul>
  );
}

const COLUMNS: readonly Column<ConformanceRun>[] = [
  timeColumn("at", "Run", ({ checked_at }) => checked_at),
  {
    id: "verdict",
    label: "Verdict",
    render: ({ verdict }) => {
      const { word, tone } = RUN_VERDICT[verdict];
      return <StatusBadge tone={tone}>{word}</StatusBadge>;
    },
  },
  { id: "flaws", label: "Findings", render: ({ flaws }) => <Flaws flaws={flaws} /> },
  { id: "source", label: "From", render: ({ source }) => RUN_SOURCE[source] },
  {
    id: "manifest",
    label: "Manifest",
    render: ({ is_current_manifest }) => (is_current_manifest ? "current" : "an earlier one"),
  },
];
