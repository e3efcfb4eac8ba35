import { Progress, Stack, Text } from "@mantine/core";

import { column } from "../../../ui/columns.tsx";
import { CodeBlock } from "../../../ui/code-block.tsx";
import { formatCount, formatShare } from "../../../ui/format.ts";
import { DataTable } from "../../../ui/data-table.tsx";
import { Panel } from "../../../ui/page.tsx";
import { CallFigures } from "../call-figures.tsx";
import { member, text, type JsonAnswer } from "../gateway.ts";
import classes from "../playground.module.css";

interface AnswerRow {
  readonly name: string;
  readonly type: string;
  readonly value: unknown;
  /** From 0 to 1; undefined if the model does not report it. */
  readonly confidence: number | undefined;
  readonly probabilities: readonly (readonly [label: string, share: number])[];
}

export function DecisionAnswers({ answer }: { readonly answer: JsonAnswer }) {
  const rows = answerRows(answer.json);
  const tokens = member(member(answer.json, "usage"), "input_tokens");
  return (
    <Panel title="Answers">
      <Stack gap="md">
        <DataTable<AnswerRow>
          caption="Answers"
          rows={rows}
          rowKey={({ name }) => name}
          columns={[
            column("name", "Question", ({ name }) => <strong>{name}</strong>),
            column("value", "Value", ({ value }) => (
              <code className={classes.result}>{JSON.stringify(value)}</code>
            )),
            column("type", "Type", ({ type }) => type),
            column("confidence", "Confidence", (row) => <Confidence {...row} />),
          ]}
        />
        <CallFigures call={answer}>
          {typeof tokens === "number" ? <span>{formatCount(tokens)} tokens in</span> : null}
        </CallFigures>
        <details>
          <summary>Whole answer</summary>
          <CodeBlock code={JSON.stringify(answer.json, null, 2)} label="Full answer as JSON" />
        </details>
      </Stack>
    </Panel>
  );
}

function Confidence({ probabilities, confidence }: AnswerRow) {
  if (probabilities.length > 0) {
    return (
      <Stack gap={2}>
        {probabilities.map(([label, share]) => (
          <Share key={label} label={label} share={share} />
        ))}
      </Stack>
    );
  }
  return confidence === undefined ? "–" : <Share label="" share={confidence} />;
}

function Share({ label, share }: { readonly label: string; readonly share: number }) {
  return (
    <div className={classes.share}>
      <Text size="xs" component="span">
        {label} {formatShare(share)}
      </Text>
      <Progress value={share * 100} size="sm" aria-hidden />
    </div>
  );
}

function answerRows(json: unknown): readonly AnswerRow[] {
  const answers = member(json, "answers");
  if (typeof answers !== "object" || answers === null) return [];
  return Object.entries(answers).map(([name, answer]: [string, unknown]) => ({
    name,
    type: text(member(answer, "type")) ?? "",
    value: member(answer, "value"),
    confidence: shareIn(member(answer, "confidence")),
    probabilities: probabilitiesIn(answer).toSorted((a, b) => b[1] - a[1]),
  }));
}

function probabilitiesIn(answer: unknown): AnswerRow["probabilities"] {
  // The provider's field `noul` has the probability of yes, even if the answer is no.
  const yes = shareIn(member(answer, "noul"));
  const reported = member(answer, "probabilities");
  if (typeof reported !== "object" || reported === null) {
    return yes === undefined
      ? []
      : [
          ["yes", yes],
          ["no", 1 - yes],
        ];
  }
  return Object.entries(reported).flatMap(([label, share]: [string, unknown]) => {
    const known = shareIn(share);
    return known === undefined ? [] : [[label, known] as const];
  });
}

function shareIn(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}
