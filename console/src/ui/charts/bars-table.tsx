import { useMemo, type ReactElement } from "react";

import { DataTable, type Column } from "../data-table.tsx";
import kit from "../kit.module.css";
import { showWhole, toWhole, type Unit } from "./measure.ts";
import type { ChartPart, Stack } from "./stack-parts.ts";

export interface BarsTableProps {
  readonly label: string;
  readonly unit: Unit;
  readonly parts: readonly ChartPart[];
  readonly stacks: readonly Stack[];
  readonly bucketLabel: string;
  /** True for parts that do not add up, such as percentiles. The table then has no total. */
  readonly isLines: boolean;
}

export function BarsTable(props: BarsTableProps): ReactElement {
  const { unit, parts, stacks, bucketLabel, isLines } = props;
  const columns = useMemo(
    () => buildColumns({ unit, parts, bucketLabel, isLines }),
    [unit, parts, bucketLabel, isLines],
  );
  return (
    <DataTable
      caption={`${props.label}, as a table`}
      columns={columns}
      rows={stacks}
      rowKey={({ bucket }) => bucket.id}
    />
  );
}

function buildColumns(
  options: Pick<BarsTableProps, "unit" | "parts" | "bucketLabel" | "isLines">,
): readonly Column<Stack>[] {
  const { unit, parts } = options;
  return [
    {
      id: "when",
      label: options.bucketLabel,
      render: ({ bucket }) => <span className={kit.figures}>{bucket.label}</span>,
    },
    ...(options.isLines ? [] : [totalColumn(unit, parts)]),
    ...(parts.length < 2 && !options.isLines ? [] : parts.map((part) => partColumn(unit, part))),
  ];
}

function totalColumn(unit: Unit, parts: readonly ChartPart[]): Column<Stack> {
  return {
    id: "total",
    label: parts.length === 1 ? (parts[0]?.name ?? "Total") : "Total",
    align: "right" as const,
    sortValue: ({ total }: Stack) => total,
    render: ({ total, isMeasured }: Stack) => (
      <span className={kit.figures}>{isMeasured ? showWhole(unit, total) : "–"}</span>
    ),
  };
}

function partColumn(unit: Unit, part: ChartPart): Column<Stack> {
  function readWhole({ bucket }: Stack): bigint {
    return toWhole(unit, bucket.values[part.id]);
  }
  return {
    id: `part-${part.id}`,
    label: part.name,
    align: "right",
    sortValue: readWhole,
    render: (stack) => (
      <span className={kit.figures}>
        {stack.bucket.values[part.id] === null ? "–" : showWhole(unit, readWhole(stack))}
      </span>
    ),
  };
}
