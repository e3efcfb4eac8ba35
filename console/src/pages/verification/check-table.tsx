import { Button, UnstyledButton } from "@mantine/core";

import type { CheckFinding, ListingTrust } from "../../api/contract.ts";
import { column } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Tip } from "../../ui/tip.tsx";
import { CheckMark, TrustBadges } from "./trust-badges.tsx";
import { CHECK_STATUS, checkIds, checkLabel } from "./verification-labels.ts";
import styles from "./verification.module.css";

interface CheckTableProps {
  readonly listings: readonly ListingTrust[];
  readonly shown: string;
  readonly onChoose: (model: string, check: string | undefined) => void;
}

export function CheckTable({ listings, shown, onChoose }: CheckTableProps) {
  const columns = [
    ...FIRST_COLUMNS,
    ...checkIds(listings).map((id) => checkColumn(id, onChoose)),
    detailsColumn(shown, onChoose),
  ];
  return (
    <div className={styles.table}>
      <DataTable
        caption="Checks of each listing"
        columns={columns}
        rows={listings}
        rowKey={({ model }) => model}
      />
      {listings.every(({ checks }) => checks.length === 0) ? null : (
        <ul className={styles.legend} aria-label="What the marks mean">
          {STATUSES.map((status) => (
            <li key={status}>
              <CheckMark status={status} /> {CHECK_STATUS[status].word}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const STATUSES = Object.keys(CHECK_STATUS) as CheckFinding["status"][];

const FIRST_COLUMNS: readonly Column<ListingTrust>[] = [
  {
    id: "model",
    label: "Model",
    phone: "lead",
    render: ({ model }) => (
      <AppLink
        to="/models/$"
        params={{ _splat: model }}
        size="sm"
        fw={500}
        className={styles.model}
      >
        {model}
      </AppLink>
    ),
  },
  column("state", "Verdict", (trust) => <TrustBadges trust={trust} />, { phone: "mark" }),
];

function checkColumn(id: string, onChoose: CheckTableProps["onChoose"]): Column<ListingTrust> {
  return column(id, id, ({ model, checks }) => {
    const check = checks.find((each) => each.id === id);
    if (check === undefined) return <span className={styles.none}>–</span>;
    const label = checkLabel(check);
    return (
      <Tip label={label}>
        <UnstyledButton
          className={styles.cell}
          aria-label={`${label}, of ${model}`}
          onClick={() => onChoose(model, id)}
        >
          <CheckMark status={check.status} />
        </UnstyledButton>
      </Tip>
    );
  });
}

function detailsColumn(shown: string, onChoose: CheckTableProps["onChoose"]): Column<ListingTrust> {
  return {
    id: "details",
    label: "Findings",
    align: "right",
    phone: "end",
    render: ({ model }) => (
      <Button
        size="compact-sm"
        variant={model === shown ? "light" : "default"}
        aria-pressed={model === shown}
        aria-label={`Details of ${model}`}
        onClick={() => onChoose(model, undefined)}
      >
        Details
      </Button>
    ),
  };
}
