import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { Play, Plus } from "lucide-react";
import { useState, type FormEvent, type ReactElement } from "react";

import { useMay } from "../../../api/use-may.ts";
import { controlled } from "../../../ui/controlled.ts";
import { FilterChips } from "../../../ui/filter-chips.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { FaultTrouble } from "../gateway-trouble.tsx";
import { sendJson, type JsonAnswer } from "../gateway.ts";
import { MediaCode } from "../media-code.tsx";
import { ModelNote, ModelPicker } from "../model-picker.tsx";
import { usePickedModel, type TabProps } from "../tab-props.ts";
import classes from "../playground.module.css";
import { useFreshBalance } from "../use-fresh-balance.ts";
import {
  decisionBody,
  QUESTION_TYPES,
  type DecisionDraft,
  type DecisionWire,
  type DraftProblem,
  type QuestionDraft,
} from "./decision-body.ts";
import { DecisionAnswers } from "./decision-answers.tsx";
import { QuestionFields } from "./question-fields.tsx";

export default function DecisionsTab(props: TabProps): ReactElement {
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
    if ("message" in made) {
      setProblem(made);
      return undefined;
    }
    setProblem(undefined);
    return made.body;
  }
  async function ask(event: FormEvent): Promise<void> {
    event.preventDefault();
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
    <form className={classes.main} onSubmit={(event) => void ask(event)} noValidate>
      <div className={classes.halves}>
        <Panel title="State">
          <Stack gap="md">
            <div>
              <ModelPicker label="Model" models={models} value={model.id} onChange={choose} />
              <ModelNote model={model} />
            </div>
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
              autosize
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
  return {
    id: crypto.randomUUID(),
    name: "",
    type: QUESTION_TYPES[wire][0]?.value ?? "boolean",
    instructions: "",
    labels: "",
    min: "",
    max: "",
    isMulti: false,
  };
}

const BLANK = { instructions: "", labels: "", min: "", max: "", isMulti: false };

/** What the form contains at first: an example that runs as it is. */
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
