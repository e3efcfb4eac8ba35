import type { Deployment } from "../../../catalog/index.ts";
import { lostEffort } from "../../wire/neutral/effort.ts";
import { lostParameters, neededField } from "../../wire/wire-profile.ts";
import { otherChoices } from "../../wire/tool-choice.ts";
import type { Unservable } from "../../wire/modality.ts";
import type { Wire } from "../../wire/contract.ts";
import type { ParsedChatRequest } from "./parse-request.ts";
import { profileDrops, sameWireDrops, undeclaredPrice } from "./same-wire-drops.ts";

/** Why this deployment, which speaks `target`, cannot serve the request; undefined when it can. */
export function servabilityProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
  target: Wire,
): Unservable | undefined {
  return (
    tooWarm(request, target) ??
    undeclaredMedia(request, deployment) ??
    profileProblem(request, deployment) ??
    (target === request.wire
      ? pricingProblem(request, deployment)
      : translationProblem(request, deployment, target))
  );
}

/** A wire ends at 1 or at 2, which reading a body has checked. */
function tooWarm(request: ParsedChatRequest, { requests }: Wire): Unservable | undefined {
  if ((request.temperature ?? 0) <= requests.temperatureMax) return undefined;
  const { temperatureMax: most } = requests;
  const message = `temperature is above ${most}, which the providers of this model do not accept; lower it`;
  return { field: "temperature", message };
}

/** What the provider's profile and the listing's own values rule out on every wire. */
function profileProblem(
  { doc, stream, outputTokens }: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const choices = otherChoices(doc, deployment);
  if (choices !== undefined) {
    const taken = choices.join(", ");
    const message = `tool_choice must be one of ${taken} for the providers of this model; change it or choose another model`;
    return { field: "tool_choice", message };
  }
  const most = deployment.wireProfile?.nonStreamMax;
  if (most !== undefined && !stream && outputTokens > most) {
    const reason = most === 0 ? "answers" : `answers of more than ${most} tokens`;
    const message = `stream must be true: the providers of this model give ${reason} only as a stream`;
    return { field: "stream", message };
  }
  const field = neededField(doc, deployment);
  if (field === undefined) return undefined;
  const message = `${field} is not taken by the providers of this model; remove it or choose a model that accepts it`;
  return { field, message };
}

function undeclaredMedia(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const part = request.mediaParts.find(({ kind }) => !deployment.inputModalities.has(kind));
  if (part === undefined) return undefined;
  const { path, kind } = part;
  const { inputModalities: taken, providerName } = deployment;
  return {
    field: path,
    // One listing's kinds: what the others take is not known here.
    message:
      `${path} is a part of kind ${kind}; the listing of ${providerName} accepts ` +
      `${[...taken].join(", ")}; send one of these or choose a model that accepts ${kind}`,
    undeclared: { kind, taken },
  };
}

/** On the request's own wire only what changes the provider's price is kept back. */
function pricingProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const undeclared = undeclaredPrice(request, deployment);
  if (undeclared !== undefined || !request.controls.requireParameters) return undeclared;
  return lostFieldProblem([
    ...sameWireDrops(request, deployment).names,
    ...profileDrops(request, deployment),
  ]);
}

function translationProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
  { requests }: Wire,
): Unservable | undefined {
  const { refused, dropped } = request.translationNeeds();
  const [first] = refused;
  if (first !== undefined) return first;
  if (!request.controls.requireParameters) return undefined;
  const { call } = request.decoded();
  const target = { target: deployment, userField: requests.userField };
  return lostFieldProblem([
    ...dropped,
    ...lostEffort(call, deployment),
    ...lostParameters(call, request.doc, target),
  ]);
}

function lostFieldProblem([lost]: readonly string[]): Unservable | undefined {
  if (lost === undefined) return undefined;
  return {
    field: lost,
    message:
      `${lost} would be dropped for the providers of this model, and ` +
      "provider.require_parameters forbids that; remove one of them",
  };
}
