import { unreachable } from "../../../kernel/index.ts";
import type { JsonObject } from "../json.ts";
import {
  chance,
  chances,
  namedChance,
  rounded,
  type Asked,
  type DecisionOrder,
} from "./decision-order.ts";
import type { SystemoneQuestion } from "./systemone-request.ts";

export function systemoneAnswers(order: DecisionOrder<SystemoneQuestion>): JsonObject {
  const { questions, stateText } = order;
  return Object.fromEntries(
    questions.map((question) => {
      const asked = { stateText, words: question.words };
      return [question.id, { type: question.kind, ...answerTo(question, asked) }];
    }),
  );
}

function answerTo(question: SystemoneQuestion, asked: Asked): JsonObject {
  switch (question.kind) {
    case "noul":
      return { noul: namedChance(asked) ?? chance(asked) };
    case "choice":
      return answerChoice(question.labels, asked);
    case "score":
      return answerScore(question.levels, asked);
    case "box":
      return answerBox(asked);
    default:
      return unreachable(question.kind);
  }
}

function answerChoice(labels: readonly string[], asked: Asked): JsonObject {
  const likely = chances(asked, labels);
  const highest = Math.max(...likely);
  const others = likely.filter((_each, at) => at !== likely.indexOf(highest));
  return {
    choice: labels[likely.indexOf(highest)],
    confidence: rounded(highest - Math.max(0, ...others)),
    probabilities: Object.fromEntries(labels.map((label, at) => [label, likely[at]])),
  };
}

function answerScore(levels: readonly unknown[], asked: Asked): JsonObject {
  const names = levels.map(String);
  const likely = chances(asked, names);
  const score = likely.reduce((sum, each, at) => sum + each * at, 0);
  return {
    score: Math.min(levels.length - 1, rounded(score)),
    confidence: Math.max(...likely),
    legend: Object.fromEntries(levels.map((level, at) => [String(at), level])),
    probabilities: Object.fromEntries(likely.map((each, at) => [String(at), each])),
  };
}

function answerBox(asked: Asked): JsonObject {
  const top = rounded(chance(asked, "top") / 2);
  const left = rounded(chance(asked, "left") / 2);
  return {
    top,
    bottom: rounded(top + 0.25),
    left,
    right: rounded(left + 0.25),
    confidence: chance(asked, "confidence"),
  };
}
