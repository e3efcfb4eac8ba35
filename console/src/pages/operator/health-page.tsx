import { List, Text } from "@mantine/core";

import type { OperatorHealth } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { numberColumn, timeColumn, column } from "../../ui/columns.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { Facts, type Fact } from "../../ui/facts.tsx";
import { OperatorPage } from "./operator-frame.tsx";

const REFRESH_MS = 30_000;

export function OperatorHealthPage() {
  const health = useAnswer("GET /api/operator/health", undefined, { refetchMs: REFRESH_MS });
  return (
    <OperatorPage title="Health">
      <Answer of={health} rows={12}>
        {(found) => (
          <>
            {found.notices.length > 0 && (
              <Panel title="To do">
                <List size="sm">
                  {found.notices.map(({ text }) => (
                    <List.Item key={text}>{text}</List.Item>
                  ))}
                </List>
              </Panel>
            )}
            <TablePanel
              title="Instances"
              columns={INSTANCES}
              rows={found.instances}
              rowKey={({ number }) => String(number)}
            />
            <Panel title="Books">
              <Books books={found.books} />
            </Panel>
            <Panel title="Program">
              <Facts facts={programFacts(found)} />
            </Panel>
          </>
        )}
      </Answer>
    </OperatorPage>
  );
}

const INSTANCES: readonly Column<OperatorHealth["instances"][number]>[] = [
  column("number", "Number", ({ number }) => number, { sortValue: ({ number }) => number }),
  column("host", "Host", ({ host }) => host, { sortValue: ({ host }) => host }),
  column("state", "State", ({ is_alive: isAlive }) => (
    <StatusBadge tone={isAlive ? "ok" : "quiet"}>{isAlive ? "Alive" : "Gone"}</StatusBadge>
  )),
  timeColumn("lease", "Lease until", ({ lease_until: at }) => at, { precision: "second" }),
  numberColumn("open", "Open attempts", ({ open_attempts: open }) => open, { isSortable: true }),
];

function Books({ books }: { readonly books: OperatorHealth["books"] }) {
  if (books === null) {
    return <StatusBadge tone="bad">The books did not answer within a second</StatusBadge>;
  }
  const { last_audit: audit } = books;
  return (
    <Facts
      facts={[
        ["Committed work", mark(!books.has_gone_back, "Complete", "Lost: run ledger reopen")],
        [
          "Last audit",
          audit === null ? (
            "Never"
          ) : (
            <>
              <Time at={audit.ended_at} />{" "}
              {mark(
                audit.violations === 0,
                "No violations",
                `${formatCount(audit.violations)} violations`,
              )}
            </>
          ),
        ],
        [
          "Open attempts",
          `${formatCount(books.open_attempts)}, the oldest for ${formatCount(books.oldest_open_seconds)} s`,
        ],
        [
          "Days prepared ahead",
          mark(books.partitions_ahead > 0, formatCount(books.partitions_ahead)),
        ],
        ["Days without sums", formatCount(books.partitions_unsummed)],
        [
          "Overdue periods",
          mark(books.unclosed_periods === 0, formatCount(books.unclosed_periods)),
        ],
        ["Owed by customers", <Money usd={books.owed_usd} isBrief />],
      ]}
    />
  );
}

function mark(isWell: boolean, well: string, otherwise: string = well) {
  return <StatusBadge tone={isWell ? "ok" : "bad"}>{isWell ? well : otherwise}</StatusBadge>;
}

function replicaText(replica: OperatorHealth["replica"]) {
  if (replica === null) return "None";
  const { lag_ms: lagMs } = replica;
  return lagMs === null ? mark(false, "Not used at the moment") : `${formatCount(lagMs)} ms behind`;
}

function programFacts({ version, commit, node, schema, ...rest }: OperatorHealth): readonly Fact[] {
  const { catalog, replica, waiting_for_restart: waiting } = rest;
  const isSame = schema.database === null || schema.database === schema.program;
  const level = schema.database === null ? "not known" : String(schema.database);
  return [
    ["Version", commit === null ? version : `${version} (${commit})`],
    ["Node.js", node],
    ["Schema", isSame ? level : `${level}; this program has ${schema.program}`],
    ["Catalog", `${formatCount(catalog.models)} models, ${formatCount(catalog.listings)} listings`],
    [
      "Catalog build",
      <Text size="sm" ff="monospace" style={{ wordBreak: "break-all" }}>
        {catalog.build_id}
      </Text>,
    ],
    ["Replica for reports", replicaText(replica)],
    ["Waiting for a restart", waiting.length === 0 ? "Nothing" : waiting.join(", ")],
  ];
}
