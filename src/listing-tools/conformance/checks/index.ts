import type { Check } from "./check.ts";
import { reachability } from "./c01-reachability.ts";
import { answerShape, streamShape } from "./c02-c03-shape.ts";
import { usageArithmetic } from "./c04-usage-arithmetic.ts";
import { finishReasons } from "./c05-finish-reasons.ts";
import { toolCalls } from "./c06-tool-calls.ts";
import { noSubstitution } from "./c07-no-substitution.ts";
import { errorShape } from "./c08-error-shape.ts";
import { outputBound } from "./c09-output-bound.ts";
import { declaredInputs } from "./c10-inputs.ts";
import { stability } from "./c12-stability.ts";
import { decisionSpecifics } from "../decisions/decision-specifics.ts";
import { imageSpecifics } from "../images/image-specifics.ts";
import { videoSpecifics } from "../videos/video-specifics.ts";

const modalitySpecifics: Check = {
  id: "C11",
  title: "modality specifics",
  otherwise: "chat has checks of its own",
  runs: { image: imageSpecifics, video: videoSpecifics, decisions: decisionSpecifics },
};

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
