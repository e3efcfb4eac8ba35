import { ActionIcon, Checkbox, Group, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { X } from "lucide-react";
import type { ReactElement } from "react";

import classes from "../playground.module.css";
import { controlled } from "../../../ui/controlled.ts";
import {
  QUESTION_TYPES,
  type DecisionWire,
  type DraftProblem,
  type QuestionDraft,
} from "./decision-body.ts";

export function QuestionFields(props: {
  readonly number: number;
  readonly wire: DecisionWire;
  readonly question: QuestionDraft;
  readonly problem: DraftProblem | undefined;
  readonly onChange: (change: Partial<QuestionDraft>) => void;
  readonly onRemove: () => void;
}): ReactElement {
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
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Remove question ${number}`}
          onClick={props.onRemove}
        >
          <X size={16} aria-hidden />
        </ActionIcon>
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
          autosize
          minRows={2}
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
          checked={question.isMulti}
          onChange={(event) => onChange({ isMulti: event.currentTarget.checked })}
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

function takesInstructions(wire: DecisionWire, type: string): boolean {
  return wire === "systemone" || type === "classification" || type === "boolean";
}
