import type { Check } from "./check.ts";
import { reachability } from "./c01-reachability.ts";
import { answerShape } from "./c02-answer-shape.ts";
import { streamShape } from "./c03-stream-shape.ts";
import { usageArithmetic } from "./c04-usage-arithmetic.ts";
import { finishReasons } from "./c05-finish-reasons.ts";
import { toolCalls } from "./c06-tool-calls.ts";
import { noSubstitution } from "./c07-no-substitution.ts";
import { errorShape } from "./c08-error-shape.ts";
import { outputBound } from "./c09-output-bound.ts";
import { declaredInputs } from "./c10-inputs.ts";
import { modalitySpecifics } from "./c11-modality.ts";
import { stability } from "./c12-stability.ts";

export const CHECKS: readonly Check[] = [
  reachability,
  answerShape,
  streamShape,
  usageArithmetic,
  finishReasons,
  toolCalls,
  noSubstitution,
  errorShape,
  outputBound,
  declaredInputs,
  modalitySpecifics,
  stability,
];
