import { Anchor, Select, Skeleton, Stack, Text } from "@mantine/core";
import { useMemo } from "react";

import type { ComparedModel, ModelCosts } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useIsSignedIn } from "./use-served.ts";
import { signInAddress } from "../../app/sign-in.ts";
import { figuresColumn } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { formatCount } from "../../ui/format.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { compareUsd, computeShare, showUsd } from "../../ui/money-math.ts";
import { NameLine } from "../../ui/name-line.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { writePicks } from "./compare-picks.ts";
import { costLabel, costNotes, differenceLabel, leftOut, otherCosts } from "./cost-labels.ts";
import styles from "./models.module.css";

const TITLE = "Your last 30 days at these prices";

interface CompareCostsProps {
  readonly ids: readonly string[];
  /** Counts only the requests to this model; undefined counts all chat requests. */
  readonly of: string | undefined;
  readonly onOf: (model: string | undefined) => void;
}

export function CompareCosts(props: CompareCostsProps) {
  if (useIsSignedIn()) return <OwnCosts {...props} />;
  return (
    <Panel title={TITLE}>
      <Empty
        title="Sign in to see what your requests would have cost with these models."
        action={<Anchor href={signInAddress({})}>Sign in</Anchor>}
      />
    </Panel>
  );
}

function OwnCosts({ ids, of, onOf }: CompareCostsProps) {
  const query = { models: writePicks(ids) ?? "", of };
  const costs = useAnswer("GET /api/console/model-costs", { query });
  const everything = useAnswer("GET /api/console/model-costs", {
    query: { ...query, of: undefined },
  });
  const used = everything.data?.traffic.models ?? [];
  return (
    <Panel
      title={TITLE}
      actions={
        used.length === 0 ? undefined : (
          <Select
            aria-label="Requests to"
            size="xs"
            w={240}
            searchable={used.length > 8}
            allowDeselect={false}
            value={of ?? ALL}
            onChange={(value) => onOf(value === null || value === ALL ? undefined : value)}
            data={[
              { value: ALL, label: "All chat requests" },
              ...used.map(({ model }) => ({ value: model, label: `Requests to ${model}` })),
            ]}
          />
        )
      }
    >
      <Answer of={costs} skeleton={<Skeleton height={180} />}>
        {(known) => <Costs costs={known} />}
      </Answer>
    </Panel>
  );
}

const ALL = "*";

function Costs({ costs }: { readonly costs: ModelCosts }) {
  const { traffic } = costs;
  const columns = useMemo(() => columnsFor(costs), [costs]);
  const sentences = leftOut(costs);
  const missing = sentences.length > 0 ? <Note>Not counted: {sentences.join("; ")}.</Note> : null;
  if (traffic.requests === 0) {
    return (
      <Stack gap="xs">
        <Empty title="No chat requests in the last 30 days." />
        {missing}
      </Stack>
    );
  }
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {formatCount(traffic.requests)} {traffic.requests === 1 ? "request" : "requests"}, for which
        you paid <span className={kit.figures}>{showUsd(traffic.spent_usd)}</span>.
      </Text>
      <DataTable
        caption={TITLE}
        columns={columns}
        rows={costs.models}
        rowKey={({ model }) => model}
      />
      <Note>
        The same tokens at today's prices, with the provider that is tried first. Another model may
        use more or fewer tokens for the same prompts.
        {costs.is_by_request ? "" : " Requests with your own provider keys are among them."}
        {costs.models.some(({ listings }) => listings.some((each) => each.is_at_least))
          ? " “At least”: the price depends on the size of each prompt, and you sent too many requests to count each one."
          : ""}
      </Note>
      {missing}
    </Stack>
  );
}

function columnsFor({ traffic, models }: ModelCosts): readonly Column<ComparedModel>[] {
  const spent = traffic.spent_usd;
  const most = models
    .flatMap(({ listings }) => listings[0]?.cost_usd ?? [])
    .toSorted(compareUsd)
    .at(-1);
  return [
    {
      id: "model",
      label: "Model",
      phone: "lead",
      render: ({ model, name }) => (
        <div className={styles.nowrap}>
          <NameLine of={model} name={name} />
        </div>
      ),
    },
    {
      id: "cost",
      label: "Estimated cost",
      align: "right",
      phone: "end",
      render: ({ listings }) => (
        <>
          <span className={kit.figures}>{costLabel(listings[0]) ?? "–"}</span>
          {costBar(listings[0]?.cost_usd, most)}
        </>
      ),
    },
    figuresColumn(
      "difference",
      "Compared with what you paid",
      ({ listings }) => differenceLabel(listings[0], spent) ?? "–",
      { phone: "line" },
    ),
    ...(models.some(({ listings }) => listings.length > 1) ? [OTHERS] : []),
    {
      id: "notes",
      label: "Notes",
      phone: "line",
      render: (model) =>
        costNotes(model).map((note) => (
          <Note key={note} size="xs">
            {note}
          </Note>
        )),
    },
  ];
}

const OTHERS = figuresColumn<ComparedModel>("others", "With other providers", ({ listings }) =>
  otherCosts(listings),
);

function costBar(usd: string | null | undefined, most: string | undefined) {
  if (usd == null || most === undefined) return null;
  const width = `${(computeShare(usd, most) * 100).toFixed(1)}%`;
  return <span aria-hidden className={styles.costBar} style={{ width }} />;
}
