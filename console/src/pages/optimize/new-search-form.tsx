import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  Radio,
  Select,
  SimpleGrid,
  Stack,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";

import type { Model, OptimizeSearch } from "../../api/contract.ts";
import { useChange, useSession } from "../../api/use-answer.ts";
import { defined } from "../../../../src/kernel/core/defined.ts";
import { submitting } from "../../ui/fields.ts";
import { formatCount } from "../../ui/format.ts";
import { bareUsd, readUsdInput, writeUsd } from "../../ui/money-math.ts";
import { ForRole, Note, Panel, RoleNote } from "../../ui/page.tsx";
import { useModelOptions } from "../playground/model-picker.tsx";
import { createKeptSearch, searchShelf } from "./kept-search.ts";
import { OBJECTIVES, readPrompts, promptsProblem } from "./optimize-labels.ts";
import { SearchEstimate } from "./search-estimate.tsx";
import { useForm, UnplacedFault, type Problems } from "../../ui/form-dialog.tsx";

const MODELS_MAX = 8;
const NAME_CHARS_MAX = 64;
const TOKENS_MAX = 4_096;
const TOKENS_DEFAULT = 512;

/** The fields have the names that the API uses. */
interface Draft {
  readonly name: string;
  readonly prompts: string;
  readonly models: readonly string[];
  readonly objective: OptimizeSearch["objective"];
  readonly judge_model: string | null;
  readonly max_tokens: number | undefined;
  readonly budget_usd: string;
}

export function NewSearchForm({ models }: { readonly models: readonly Model[] }) {
  const form = useForm(EMPTY);
  const draft = form.typed;
  const start = useChange("POST /api/console/optimize", ["GET /api/console/optimize"]);
  const navigate = useNavigate();
  const orgId = useSession().org?.org_id ?? "";
  const prompts = readPrompts(draft.prompts);
  const { judge_model: judge, max_tokens } = draft;
  /** The calls of the search, which its estimate needs too. */
  const wanted = {
    models: [...draft.models],
    prompts: [...prompts],
    ...defined({ judge_model: judge ?? undefined, max_tokens }),
  };

  function submit(): void {
    const found = findProblems(draft, prompts);
    form.setProblems(found);
    if (Object.keys(found).length > 0) return;
    form.submission.run(async () => {
      const { name, objective, budget_usd: budget } = draft;
      const body = { ...wanted, name: name.trim(), objective, budget_usd: bareUsd(budget) };
      const search = await start.mutateAsync({ body });
      await searchShelf.keep(createKeptSearch(search.search_id, orgId, prompts));
      await navigate({ to: "/optimize/$searchId", params: { searchId: search.search_id } });
    });
  }

  const options = useModelOptions(models);
  return (
    <Panel title="New search">
      <ForRole need="keys">
        <form {...submitting(submit)} noValidate>
          <Stack gap="md">
            <TextInput
              label="Name"
              description={`Its spend appears as "Optimize search ${draft.name.trim() || "…"}"`}
              maxLength={NAME_CHARS_MAX}
              {...form.text("name")}
            />
            <Textarea
              label="Prompts"
              description={
                "3 to 50 prompts, one per line. Separate prompts of several lines with a line of three dashes " +
                "(---). They are sent to the models; only this browser keeps them."
              }
              {...form.text("prompts")}
              minRows={5}
              maxRows={16}
            />
            <Note size="xs" aria-live="polite">
              {prompts.length === 1 ? "1 prompt" : `${formatCount(prompts.length)} prompts`}
            </Note>
            <MultiSelect
              {...options}
              label="Models"
              description={`2 to ${MODELS_MAX} candidates, by name or ID`}
              value={[...draft.models]}
              onChange={(chosen) => form.set({ models: chosen })}
              maxValues={MODELS_MAX}
              hidePickedOptions
              error={form.errorOf("models")}
            />
            <Radio.Group
              label="Objective"
              value={draft.objective}
              onChange={(value) => form.set({ objective: value })}
              error={form.errorOf("objective")}
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
                value={draft.judge_model}
                onChange={(to) => form.set({ judge_model: to })}
                clearable
                clearButtonProps={{ "aria-label": "No judge" }}
                error={form.errorOf("judge_model")}
              />
              <NumberInput
                label="Max output tokens"
                description="1 to 4,096"
                placeholder={String(TOKENS_DEFAULT)}
                min={1}
                max={TOKENS_MAX}
                allowDecimal={false}
                value={draft.max_tokens ?? ""}
                onChange={(value) =>
                  form.set({ max_tokens: typeof value === "number" ? value : undefined })
                }
                error={form.errorOf("max_tokens")}
              />
              <TextInput
                label="Budget, dollars"
                description="The search stops before it exceeds this"
                inputMode="decimal"
                {...form.text("budget_usd")}
              />
            </SimpleGrid>
            <UnplacedFault fault={form.submission.fault} placed={form.placed} />
            <RoleNote need="keys" what="start a search" />
            <Group justify="space-between" align="center">
              <SearchEstimate wanted={wanted} budgetUsd={parseBudget(draft.budget_usd)} />
              <Button type="submit" loading={form.submission.isBusy}>
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
  judge_model: null,
  max_tokens: undefined,
  budget_usd: "1.00",
};

function findProblems(draft: Draft, prompts: readonly string[]): Problems {
  const hasNoJudge = draft.objective === "best_judged" && draft.judge_model === null;
  const hasNoBudget = parseBudget(draft.budget_usd) === undefined;
  return defined({
    name: draft.name.trim() === "" ? "Give the search a name." : undefined,
    prompts: promptsProblem(prompts),
    models: draft.models.length < 2 ? "Choose at least two models to compare." : undefined,
    judge_model: hasNoJudge ? "Choose a judge model." : undefined,
    budget_usd: hasNoBudget ? "Enter an amount above $0, with at most six decimals." : undefined,
  });
}

/** Undefined unless the typed dollars are an amount above 0. */
function parseBudget(text: string): string | undefined {
  const amount = readUsdInput(text);
  return amount === undefined || amount === 0n ? undefined : writeUsd(amount);
}
