import { unreachable } from "../../../kernel/index.ts";
import type { JsonObject } from "../json.ts";
import { chance, chances, type Asked, type DecisionOrder } from "./decision-order.ts";
import type { GlinerTask } from "./gliner-request.ts";

export function glinerResults(order: DecisionOrder<GlinerTask>): JsonObject {
  const { questions, stateText, options } = order;
  const shape = {
    confidence: options["include_confidence"] === true,
    spans: options["include_spans"] === true,
  };
  return Object.fromEntries(
    questions.map((task) => [task.name, answerTask(task, { stateText, words: task.words }, shape)]),
  );
}

interface Shape {
  readonly confidence: boolean;
  readonly spans: boolean;
}

function answerTask(task: GlinerTask, asked: Asked, shape: Shape): unknown {
  switch (task.kind) {
    case "classification":
      return answerClass(task, asked, shape);
    case "entities":
      return byLabel(task, (label) => [answerSpan(asked, label, shape)]);
    case "relations":
      return byLabel(task, (label) => [
        [answerSpan(asked, `${label} head`, shape), answerSpan(asked, `${label} tail`, shape)],
      ]);
    case "structure":
      return [
        Object.fromEntries(
          task.fields.map(({ name, isList }) => {
            const span = answerSpan(asked, name, shape);
            return [name, isList ? [span] : span];
          }),
        ),
      ];
    default:
      return unreachable(task.kind);
  }
}

function answerClass({ labels, isMulti }: GlinerTask, asked: Asked, shape: Shape): unknown {
  const likely = chances(asked, labels);
  const ranked = labels
    .map((label, at) => ({ label, confidence: likely[at] ?? 0 }))
    .sort((one, other) => other.confidence - one.confidence);
  const shown = ranked.map((each) => (shape.confidence ? each : each.label));
  return isMulti ? shown.slice(0, 2) : shown[0];
}

function byLabel({ labels }: GlinerTask, find: (label: string) => unknown): JsonObject {
  return Object.fromEntries(labels.map((label) => [label, find(label)]));
}

/* Answers with a word of the state. It is the same for equal questions and labels. */
function answerSpan(asked: Asked, label: string, { confidence, spans }: Shape): unknown {
  const words = [...asked.stateText.matchAll(/[\p{L}\p{N}]+/gu)];
  const share = chance(asked, label);
  const found = words[Math.floor(share * words.length)];
  const text = found?.[0] ?? "";
  if (!confidence && !spans) return text;
  const start = found?.index ?? 0;
  return {
    text,
    ...(confidence ? { confidence: share } : {}),
    ...(spans ? { start, end: start + text.length } : {}),
  };
}
