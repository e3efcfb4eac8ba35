import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  Radio,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactElement } from "react";

import type { Model, OptimizeSearch } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { controlled } from "../../ui/controlled.ts";
import { formatCount } from "../../ui/count.tsx";
import { Fault } from "../../ui/fault.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { readUsdInput, writeUsd } from "../../ui/money-math.ts";
import { ForRole } from "../../ui/for-role.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { useModelOptions } from "../playground/model-picker.tsx";
import { createKeptSearch, searchShelf } from "./kept-search.ts";
import { OBJECTIVES, readPrompts, promptsProblem } from "./optimize-labels.ts";
import { SearchEstimate } from "./search-estimate.tsx";

const MODELS_MAX = 8;
const NAME_CHARS_MAX = 64;
const TOKENS_MAX = 4_096;
const TOKENS_DEFAULT = 512;
const FIELDS = [
  "name",
  "prompts",
  "models",
  "objective",
  "judge_model",
  "max_tokens",
  "budget_usd",
];

interface Draft {
  readonly name: string;
  readonly prompts: string;
  readonly models: readonly string[];
  readonly objective: OptimizeSearch["objective"];
  readonly judge: string | null;
  readonly maxTokens: number | undefined;
  readonly budget: string;
}

type Problems = Readonly<Partial<Record<keyof Draft, string>>>;

export function NewSearchForm({ models }: { readonly models: readonly Model[] }): ReactElement {
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [problems, setProblems] = useState<Problems>({});
  const start = useChange("POST /api/console/optimize", {
    refreshes: ["GET /api/console/optimize"],
  });
  const navigate = useNavigate();
  const { org } = useSession();
  const prompts = readPrompts(draft.prompts);
  const isFieldFault = FIELDS.some((name) => fieldError(start.error, name) !== undefined);

  function change(changed: Partial<Draft>): void {
    setDraft((before) => ({ ...before, ...changed }));
    const open = Object.entries(problems).filter(([name]) => !(name in changed));
    setProblems(Object.fromEntries(open));
  }
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const found = findProblems(draft, prompts);
    setProblems(found);
    if (Object.keys(found).length > 0) return;
    const { name, objective, judge, maxTokens, budget } = draft;
    try {
      const search = await start.mutateAsync({
        body: {
          name: name.trim(),
          objective,
          models: [...draft.models],
          prompts: [...prompts],
          budget_usd: budget.trim().replace(/^\$/, ""),
          ...(judge === null ? {} : { judge_model: judge }),
          ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        },
      });
      await searchShelf.keep(createKeptSearch(search.search_id, org?.org_id ?? "", prompts));
      await navigate({
        to: "/optimize/$searchId",
        params: { searchId: search.search_id },
      });
    } catch {
      // Nothing to do: the form shows `start.error` at its field or below the fields.
    }
  }

  const options = useModelOptions(models);
  return (
    <Panel title="New search">
      <ForRole need="keys">
        <form onSubmit={(event) => void submit(event)} noValidate>
          <Stack gap="md">
            <TextInput
              label="Name"
              description={`Its spend appears as "Optimize search ${draft.name.trim() || "…"}"`}
              maxLength={NAME_CHARS_MAX}
              {...controlled(draft.name, (name) => change({ name }))}
              error={problems.name ?? fieldError(start.error, "name")}
            />
            <Textarea
              label="Prompts"
              description={
                "3 to 50 prompts, one per line. Separate prompts of several lines with a line of three dashes " +
                "(---). They are sent to the models; only this browser keeps them."
              }
              {...controlled(draft.prompts, (text) => change({ prompts: text }))}
              error={problems.prompts ?? fieldError(start.error, "prompts")}
              autosize
              minRows={5}
              maxRows={16}
            />
            <Text size="xs" c="dimmed" aria-live="polite">
              {prompts.length === 1 ? "1 prompt" : `${formatCount(prompts.length)} prompts`}
            </Text>
            <MultiSelect
              {...options}
              label="Models"
              description={`2 to ${MODELS_MAX} candidates, by name or ID`}
              value={[...draft.models]}
              onChange={(chosen) => change({ models: chosen })}
              maxValues={MODELS_MAX}
              hidePickedOptions
              error={problems.models ?? fieldError(start.error, "models")}
            />
            <Radio.Group
              label="Objective"
              value={draft.objective}
              onChange={(value) => change({ objective: value })}
              error={fieldError(start.error, "objective")}
            >
              <SimpleGrid cols={{ base: 1, sm: 3 }} mt="xs">
                {OBJECTIVES.map(({ value, label, help }) => (
                  <Radio key={value} value={value} label={label} description={help} />
                ))}
              </SimpleGrid>
            </Radio.Group>
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <Select
                {...options}
                label="Judge"
                description={
                  draft.objective === "best_judged"
                    ? "Picks the best answer"
                    : "Optional: adds a win rate"
                }
                value={draft.judge}
                onChange={(judge) => change({ judge })}
                clearable
                clearButtonProps={{ "aria-label": "No judge" }}
                error={problems.judge ?? fieldError(start.error, "judge_model")}
              />
              <NumberInput
                label="Max output tokens"
                description="1 to 4,096"
                placeholder={String(TOKENS_DEFAULT)}
                min={1}
                max={TOKENS_MAX}
                allowDecimal={false}
                value={draft.maxTokens ?? ""}
                onChange={(value) =>
                  change({ maxTokens: typeof value === "number" ? value : undefined })
                }
                error={fieldError(start.error, "max_tokens")}
              />
              <TextInput
                label="Budget, dollars"
                description="The search stops before it exceeds this"
                inputMode="decimal"
                {...controlled(draft.budget, (budget) => change({ budget }))}
                error={problems.budget ?? fieldError(start.error, "budget_usd")}
              />
            </SimpleGrid>
            {start.error === null || isFieldFault ? null : <Fault error={start.error} />}
            <RoleNote need="keys" what="start a search" />
            <Group justify="space-between" align="center">
              <SearchEstimate
                models={draft.models}
                prompts={prompts}
                judge={draft.judge}
                maxTokens={draft.maxTokens}
                budgetUsd={parseBudget(draft.budget)}
              />
              <Button type="submit" loading={start.isPending}>
                Start search
              </Button>
            </Group>
          </Stack>
        </form>
      </ForRole>
    </Panel>
  );
}

const EMPTY: Draft = {
  name: "",
  prompts: "",
  models: [],
  objective: "lowest_cost",
  judge: null,
  maxTokens: undefined,
  budget: "1.00",
};

function findProblems(draft: Draft, prompts: readonly string[]): Problems {
  const budget = readUsdInput(draft.budget);
  const wrongPrompts = promptsProblem(prompts);
  return {
    ...(draft.name.trim() === "" ? { name: "Give the search a name." } : {}),
    ...(wrongPrompts === undefined ? {} : { prompts: wrongPrompts }),
    ...(draft.models.length < 2 ? { models: "Choose at least two models to compare." } : {}),
    ...(draft.objective === "best_judged" && draft.judge === null
      ? { judge: "Choose a judge model." }
      : {}),
    ...(budget === undefined || budget === 0n
      ? { budget: "Enter an amount above $0, with at most six decimals." }
      : {}),
  };
}

/** Reads the typed dollars as a decimal text. Undefined unless they are an amount above 0. */
function parseBudget(text: string): string | undefined {
  const amount = readUsdInput(text);
  return amount === undefined || amount === 0n ? undefined : writeUsd(amount);
}
