import { deliverJson, failEarly } from "../deliver.ts";
import type { Faults } from "../faults.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { ReceivedCall } from "../received-call.ts";
import type { SimError } from "../sim-error.ts";
import { isRefused, orderedTrouble, findRequestProblem } from "../trouble.ts";
import type { DecisionHost } from "./decision-host.ts";
import type { Decided } from "./decision-order.ts";
import { unprocessable } from "./systemone.ts";
import { envelopeCode, envelopeError, inEnvelope, scriptedEnvelope } from "./envelope.ts";

export async function answerDecisions(host: DecisionHost, call: ReceivedCall): Promise<void> {
  const { delivery } = call;
  const { faults } = delivery;
  await failEarly(delivery);
  const scripted = host.hasEnvelope ? scriptedEnvelope(faults.envelope ?? {}) : undefined;
  if (scripted !== undefined) return await deliverJson(delivery, scripted.status, scripted.json);
  const ordered = orderedTrouble(host.troubles, faults);
  const decided = ordered ?? decide(host, call);
  const problem = "status" in decided ? decided : undefined;
  if ((await isRefused(host, delivery, problem)) || "status" in decided) return;
  const { no_usage: noUsage, usage = {} } = faults;
  const asked = {
    body: isObject(call.body) ? call.body : {},
    number: call.nextChatAnswer(),
    kept: call.kept,
  };
  const said = withFaults(faults.cheat?.decisions?.decide?.(decided, asked) ?? decided, faults);
  const body = host.answer(said, noUsage === true ? null : usage);
  const enveloped = host.hasEnvelope ? inEnvelope(body, faults.envelope ?? {}) : body;
  await deliverJson(delivery, 200, enveloped);
}

/** Answers an unknown path of `envelopeHost` with the error code 7000. */
export async function answerNoRoute({ delivery }: ReceivedCall): Promise<void> {
  await failEarly(delivery);
  const error = envelopeCode(7000);
  await deliverJson(delivery, error.status, envelopeError(error));
}

function decide(host: DecisionHost, call: ReceivedCall): Decided | SimError {
  const { body, bodyBytes, delivery } = call;
  const problem = findRequestProblem(call, ({ model }) => {
    const early = host.bodyProblem(bodyBytes);
    return early ?? (typeof model === "string" ? undefined : unprocessable("model: required"));
  });
  if (problem !== undefined) return problem;
  const sent = isObject(body) ? body : {};
  const { read } = delivery.faults.cheat?.decisions ?? {};
  const decided = host.decide(read?.(sent) ?? sent);
  if (read === undefined || "status" in decided) return decided;
  const honest = host.decide(sent);
  return "status" in honest ? honest : { ...honest, answers: decided.answers };
}

function withFaults(decided: Decided, faults: Faults): Decided {
  const { missing_answer: missing, extra_answer: extra, answers, model_echo: model } = faults;
  const all: JsonObject = { ...decided.answers, ...answers };
  const left = missing === undefined ? undefined : missing || Object.keys(all)[0];
  const kept = Object.entries(all).filter(([id]) => id !== left);
  const surprise = { type: "noul", noul: 0.5 };
  return {
    ...decided,
    model: model ?? decided.model,
    answers: Object.fromEntries(
      extra === true ? [...kept, ["nobody_asked", surprise] as const] : kept,
    ),
  };
}
