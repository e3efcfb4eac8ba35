import {
  Button,
  Group,
  Stack,
  Text,
  Textarea,
  Checkbox,
  NativeSelect,
  TextInput,
} from "@mantine/core";
import { Play, Plus, X } from "lucide-react";
import { useState } from "react";

import { useMay } from "../../../api/use-answer.ts";
import { newId } from "../browser-store.ts";
import { IconButton } from "../call-figures.tsx";
import { controlled, checkable, submitting } from "../../../ui/fields.ts";
import { FilterChips } from "../../../ui/filter-chips.tsx";
import { Panel } from "../../../ui/page.tsx";
import { FaultTrouble } from "../gateway-trouble.tsx";
import { sendJson, type JsonAnswer } from "../gateway.ts";
import { MediaCode } from "../media-code.tsx";
import { ModelField } from "../model-picker.tsx";
import { usePickedModel, type TabProps, useFreshBalance } from "../tab-props.ts";
import classes from "../playground.module.css";
import {
  decisionBody,
  QUESTION_TYPES,
  takesInstructions,
  type DecisionDraft,
  type DecisionWire,
  type DraftProblem,
  type QuestionDraft,
} from "./decision-body.ts";
import { DecisionAnswers } from "./decision-answers.tsx";

export default function DecisionsTab(props: TabProps) {
  const { models } = props;
  const [model, choose] = usePickedModel(props);
  const wire: DecisionWire = model.decisions_wire ?? "systemone";
  const [drafts, setDrafts] = useState<Readonly<Record<DecisionWire, DecisionDraft>>>(EXAMPLES);
  const draft = drafts[wire];
  const [problem, setProblem] = useState<DraftProblem>();
  const [answer, setAnswer] = useState<JsonAnswer>();
  const [fault, setFault] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const freshBalance = useFreshBalance();
  const mayCall = useMay("keys");

  function change(changed: Partial<DecisionDraft>): void {
    setDrafts((before) => ({ ...before, [wire]: { ...before[wire], ...changed } }));
    setProblem(undefined);
  }
  function changeQuestion(id: string, changed: Partial<QuestionDraft>): void {
    change({
      questions: draft.questions.map((each) => (each.id === id ? { ...each, ...changed } : each)),
    });
  }
  function checkedBody(): Readonly<Record<string, unknown>> | undefined {
    const made = decisionBody(model.id, wire, draft);
    setProblem("message" in made ? made : undefined);
    return "message" in made ? undefined : made.body;
  }
  async function ask(): Promise<void> {
    const body = checkedBody();
    if (body === undefined) return;
    setBusy(true);
    setFault(undefined);
    try {
      setAnswer(await sendJson("/decisions", { body }));
    } catch (error) {
      setFault(error);
    } finally {
      setBusy(false);
      freshBalance();
    }
  }

  return (
    <form className={classes.main} {...submitting(ask)} noValidate>
      <div className={classes.halves}>
        <Panel title="State">
          <Stack gap="md">
            <ModelField models={models} model={model} onChange={choose} />
            <FilterChips
              label="State format"
              options={[
                { value: "text", label: "Text" },
                { value: "json", label: "JSON" },
              ]}
              value={draft.isJsonState ? "json" : "text"}
              onChange={(form) => change({ isJsonState: form === "json" })}
            />
            <Textarea
              label="What the questions are about"
              {...controlled(draft.state, (state) => change({ state }))}
              error={problem?.field === "state" ? problem.message : undefined}
              className={draft.isJsonState ? classes.mono : undefined}
              spellCheck={!draft.isJsonState}
              minRows={8}
              maxRows={24}
            />
          </Stack>
        </Panel>
        <Panel title="Questions">
          <Stack gap="md">
            {draft.questions.map((question, at) => (
              <QuestionFields
                key={question.id}
                number={at + 1}
                wire={wire}
                question={question}
                problem={problem?.questionId === question.id ? problem : undefined}
                onChange={(changed) => changeQuestion(question.id, changed)}
                onRemove={() =>
                  change({ questions: draft.questions.filter(({ id }) => id !== question.id) })
                }
              />
            ))}
            {problem?.field === "questions" ? <Text c="red">{problem.message}</Text> : null}
            <Group justify="space-between">
              <Button
                variant="default"
                leftSection={<Plus size={14} aria-hidden />}
                onClick={() => change({ questions: [...draft.questions, createQuestion(wire)] })}
              >
                Add a question
              </Button>
              <Group gap="xs">
                <MediaCode modality="decisions" bodyOf={checkedBody} />
                <Button
                  type="submit"
                  loading={isBusy}
                  disabled={!mayCall}
                  leftSection={<Play size={14} aria-hidden />}
                >
                  Ask
                </Button>
              </Group>
            </Group>
          </Stack>
        </Panel>
      </div>
      {fault === undefined ? null : <FaultTrouble fault={fault} />}
      {answer === undefined || fault !== undefined ? null : <DecisionAnswers answer={answer} />}
    </form>
  );
}

function createQuestion(wire: DecisionWire): QuestionDraft {
  const type = QUESTION_TYPES[wire][0]?.value ?? "boolean";
  return { ...BLANK, id: newId(), name: "", type };
}

const BLANK = { instructions: "", labels: "", min: "", max: "", isMulti: false };

/** The form begins with an example that runs as it is. */
const EXAMPLES: Readonly<Record<DecisionWire, DecisionDraft>> = {
  systemone: {
    isJsonState: true,
    state: JSON.stringify({ subject: "Checkout is down", plan: "enterprise" }, null, 2),
    questions: [
      { ...BLANK, id: "1", name: "urgent", type: "boolean", instructions: "Is this urgent?" },
      {
        ...BLANK,
        id: "2",
        name: "team",
        type: "enum",
        labels: "billing\nshop",
        instructions: "Which team?",
      },
    ],
  },
  gliner: {
    isJsonState: false,
    state: "Ada Lovelace wrote to Charles Babbage from London.",
    questions: [
      { ...BLANK, id: "1", name: "people", type: "entities", labels: "person" },
      { ...BLANK, id: "2", name: "tone", type: "classification", labels: "formal\nfriendly" },
    ],
  },
};

function QuestionFields(props: {
  readonly number: number;
  readonly wire: DecisionWire;
  readonly question: QuestionDraft;
  readonly problem: DraftProblem | undefined;
  readonly onChange: (change: Partial<QuestionDraft>) => void;
  readonly onRemove: () => void;
}) {
  const { number, wire, question, problem, onChange } = props;
  const types = QUESTION_TYPES[wire];
  const needs = types.find(({ value }) => value === question.type)?.needs;
  return (
    <fieldset className={classes.question}>
      <legend>Question {number}</legend>
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <TextInput
          className={classes.grow}
          label="Name"
          description="The answer uses this name"
          {...controlled(question.name, (name) => onChange({ name }))}
          error={problem?.field === "name" ? problem.message : undefined}
          spellCheck={false}
        />
        <IconButton icon={X} label={`Remove question ${number}`} onClick={props.onRemove} />
      </Group>
      <NativeSelect
        label="Answer"
        {...controlled(question.type, (type) => onChange({ type }))}
        data={types.map(({ value, label }) => ({ value, label }))}
      />
      {needs === "labels" ? (
        <Textarea
          label={LABELS_HELP[question.type] ?? "Labels"}
          description={
            question.type === "choice"
              ? "One per line, then a colon and when it applies"
              : "One per line"
          }
          {...controlled(question.labels, (labels) => onChange({ labels }))}
          error={problem?.field === "labels" ? problem.message : undefined}
          maxRows={10}
        />
      ) : null}
      {needs === "range" ? (
        <Group gap="xs" grow align="flex-start">
          <TextInput
            label="Minimum"
            inputMode="decimal"
            {...controlled(question.min, (min) => onChange({ min }))}
            error={problem?.field === "range" ? problem.message : undefined}
          />
          <TextInput
            label="Maximum"
            inputMode="decimal"
            {...controlled(question.max, (max) => onChange({ max }))}
            error={problem?.field === "range"}
          />
        </Group>
      ) : null}
      {question.type === "classification" ? (
        <Checkbox
          label="Allow several labels"
          {...checkable(question.isMulti, (isOn) => onChange({ isMulti: isOn }))}
        />
      ) : null}
      {takesInstructions(wire, question.type) ? (
        <TextInput
          label="Instructions"
          placeholder="The question, in one sentence"
          {...controlled(question.instructions, (instructions) => onChange({ instructions }))}
        />
      ) : null}
    </fieldset>
  );
}

const LABELS_HELP: Readonly<Record<string, string>> = {
  score: "Levels, from the lowest",
  structure: "Fields of a record",
  entities: "Entity types",
  relations: "Relation types",
};
