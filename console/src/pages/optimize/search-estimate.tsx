import { Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { BodyOf, OptimizeEstimate } from "../../api/contract.ts";
import { call, type ApiFault } from "../../api/client.ts";
import { formatCount } from "../../ui/format.ts";
import { compareUsd, showUsd } from "../../ui/money-math.ts";
import { countCalls, promptsProblem } from "./optimize-labels.ts";

const TYPING_MS = 600;

type Asked = BodyOf<"POST /api/console/optimize-estimate">;

/** Shows the most that the search in the form can cost, which the server quotes. */
export function SearchEstimate(props: {
  readonly wanted: Asked;
  readonly budgetUsd: string | undefined;
}) {
  const { wanted, budgetUsd } = props;
  const { models, prompts, judge_model: judge } = wanted;
  const typed = JSON.stringify(wanted);
  const [asked] = useDebouncedValue(typed, TYPING_MS);
  const body = useMemo(() => JSON.parse(asked) as Asked, [asked]);
  const isReady = isComplete(wanted);
  const estimate = useQuery<OptimizeEstimate, ApiFault>({
    queryKey: ["optimize-estimate", asked],
    queryFn: ({ signal }) => call("POST /api/console/optimize-estimate", { body, signal }),
    enabled: isReady && isComplete(body),
    retry: false,
  });
  const isCurrent = asked === typed;
  return (
    <Text size="sm" c="dimmed" maw="60ch" component="div" aria-live="polite">
      {isReady ? (
        <EstimateLines
          calls={countCalls(prompts.length, models.length, judge !== undefined)}
          estimate={isCurrent ? estimate.data : undefined}
          fault={isCurrent ? estimate.error : null}
          budgetUsd={budgetUsd}
        />
      ) : (
        "Enter at least three prompts and choose at least two models to see what the search can cost."
      )}
    </Text>
  );
}

function EstimateLines(props: {
  readonly calls: number;
  readonly estimate: OptimizeEstimate | undefined;
  readonly fault: ApiFault | null;
  readonly budgetUsd: string | undefined;
}) {
  const { calls, estimate, fault, budgetUsd } = props;
  const many = `${formatCount(calls)} calls`;
  if (estimate === undefined) return `${many}. ${fault?.message ?? "Estimating the cost…"}`;
  const { most_usd: most, least_ms: leastMs, judge } = estimate;
  const refused = [...estimate.models, ...(judge === null ? [] : [judge])].filter(
    ({ message }) => message !== null,
  );
  return (
    <>
      {many}, at least {formatDuration(leastMs)}. Estimated cost: at most {showUsd(most)}
      {judge === null ? "" : `, of which the judge at most ${showUsd(judge.most_usd)}`}. You pay the
      actual price of each call, usually much less.{" "}
      {budgetUsd === undefined
        ? "The budget is the most that you pay in total."
        : compareUsd(most, budgetUsd) > 0
          ? `You never pay more than the budget of ${showUsd(budgetUsd)}: the search stops before it exceeds that.`
          : `The budget of ${showUsd(budgetUsd)} covers all calls.`}
      {refused.map(({ model, message }) => (
        <Text key={model} size="sm" c="red">
          {model} cannot be called: {message}
        </Text>
      ))}
    </>
  );
}

function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 90) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}

function isComplete(of: {
  readonly models: readonly string[];
  readonly prompts: readonly string[];
}): boolean {
  return of.models.length >= 2 && promptsProblem(of.prompts) === undefined;
}
