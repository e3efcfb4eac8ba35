import { Group, Stack, Text } from "@mantine/core";
import { Download } from "lucide-react";
import { useState } from "react";

import type { OptimizeAnswer, OptimizeSearch } from "../../api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { answersCsv } from "./answers-csv.ts";
import { promptRows, SEARCHES_MAX, type PromptRow, useKeptSearch } from "./kept-search.ts";
import kit from "../../ui/kit.module.css";
import classes from "./optimize.module.css";
import { SmallButton } from "../../ui/buttons.tsx";

/** Number of prompts on a page. It is small, because answers are long. */
const PAGE_ROWS = 10;

export function AnswersPanel(props: { readonly search: OptimizeSearch; readonly orgId: string }) {
  const { search } = props;
  const { kept, isSaved } = useKeptSearch(search, props.orgId);
  const [from, setFrom] = useState(0);
  const rows = kept === undefined ? [] : promptRows(kept, search.prompts);
  const missing = search.calls_done > 0 && search.state !== "running" && rows.length === 0;
  return (
    <Panel
      title="Answers"
      actions={
        rows.length === 0 ? null : (
          <SmallButton
            leftSection={<Download size={14} aria-hidden />}
            onClick={() => saveCsv(answersCsv(rows, search.models), search.search_id)}
          >
            Download CSV
          </SmallButton>
        )
      }
    >
      <Stack gap="sm">
        {rows.length === 0 ? (
          <Text c="dimmed">
            {missing
              ? "This browser has no answers of this search. They are shown where the search was started, and are never stored on the server."
              : "Answers appear here as they arrive."}
          </Text>
        ) : (
          <Grid rows={rows.slice(from, from + PAGE_ROWS)} models={search.models} />
        )}
        {rows.length <= PAGE_ROWS ? null : (
          <Pager from={from} count={rows.length} onFrom={setFrom} />
        )}
        {kept === undefined || kept.lost === 0 ? null : (
          <Text size="sm" role="status">
            {formatCount(kept.lost)} {kept.lost === 1 ? "answer was" : "answers were"} dropped
            before this browser could fetch them. Keep this page open while a search runs.
          </Text>
        )}
        <Note size="xs">
          {isSaved
            ? `Prompts and answers are kept in this browser only, for your last ${SEARCHES_MAX} searches.`
            : "This browser cannot keep data. The answers are gone when you leave this page."}{" "}
          The server holds answers in memory for up to ten minutes after a search ends. Answers are
          cut after 16,000 characters.
        </Note>
      </Stack>
    </Panel>
  );
}

function Grid(props: { readonly rows: readonly PromptRow[]; readonly models: readonly string[] }) {
  return (
    <div className={classes.answers} role="group" tabIndex={0} aria-label="Answers by prompt">
      <table className={classes.grid}>
        <caption className={kit.hidden}>Answers by prompt and model</caption>
        <thead>
          <tr>
            <th scope="col">Prompt</th>
            {props.models.map((model) => (
              <th key={model} scope="col">
                {model}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={row.at}>
              <th scope="row">
                <div
                  className={classes.text}
                  tabIndex={0}
                  role="group"
                  aria-label={promptName(row)}
                >
                  {row.at + 1}. {row.prompt ?? "This browser does not have the prompt."}
                </div>
                {row.winner === null ? <Note size="xs">The judge chose no answer.</Note> : null}
              </th>
              {props.models.map((model) => (
                <td key={model}>
                  <Cell
                    answer={row.answers.get(model)}
                    isBest={row.winner === model}
                    label={`${promptName(row)}, answer of ${model}`}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function promptName({ at }: PromptRow): string {
  return `Prompt ${at + 1}`;
}

function Cell(props: {
  readonly answer: OptimizeAnswer | undefined;
  readonly isBest: boolean;
  readonly label: string;
}) {
  const { answer } = props;
  if (answer === undefined) return <Text c="dimmed">–</Text>;
  return (
    <>
      {answer.text === null ? (
        <StatusBadge tone="bad">No answer</StatusBadge>
      ) : (
        <div className={classes.text} tabIndex={0} role="group" aria-label={props.label}>
          {answer.text}
        </div>
      )}
      <Group gap="xs" mt={4} className={classes.figures}>
        {props.isBest ? <StatusBadge tone="ok">Judged best</StatusBadge> : null}
        <Money usd={answer.cost_usd} />
        <span>{formatMs(answer.ttft_ms)} to first token</span>
        <span>{formatMs(answer.total_ms)} in total</span>
      </Group>
    </>
  );
}

function Pager(props: {
  readonly from: number;
  readonly count: number;
  readonly onFrom: (from: number) => void;
}) {
  const { from, count, onFrom } = props;
  const to = Math.min(from + PAGE_ROWS, count);
  return (
    <Group gap="xs">
      <Note>
        Prompts {from + 1}–{to} of {formatCount(count)}
      </Note>
      <SmallButton disabled={from === 0} onClick={() => onFrom(from - PAGE_ROWS)}>
        Previous
      </SmallButton>
      <SmallButton disabled={to === count} onClick={() => onFrom(to)}>
        Next
      </SmallButton>
    </Group>
  );
}

function saveCsv(csv: string, searchId: string): void {
  const address = URL.createObjectURL(new Blob([csv], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${searchId}-answers.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
