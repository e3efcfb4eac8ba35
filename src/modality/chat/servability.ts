import type { Deployment } from "../../catalog/index.ts";
import { lostEffort, type Unservable, type Wire } from "../../wire/index.ts";
import type { ParsedChatRequest } from "./parse-request.ts";
import { sameWireDrops, undeclaredPrice } from "./same-wire-drops.ts";

/** Why this deployment, which speaks `target`, cannot serve the request; undefined when it can. */
export function servabilityProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
  target: Wire,
): Unservable | undefined {
  return (
    tooWarm(request, target) ??
    undeclaredMedia(request, deployment) ??
    (target === request.wire
      ? pricingProblem(request, deployment)
      : translationProblem(request, deployment))
  );
}

/** A wire ends at 1 or at 2, which reading a body has checked. */
function tooWarm(request: ParsedChatRequest, { requests }: Wire): Unservable | undefined {
  if ((request.temperature ?? 0) <= requests.temperatureMax) return undefined;
  const { temperatureMax: most } = requests;
  const message = `temperature is above ${most}, which the providers of this model do not accept; lower it`;
  return { field: "temperature", message };
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
  return lostFieldProblem(sameWireDrops(request, deployment).names);
}

function translationProblem(
  request: ParsedChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  const { refused, dropped } = request.translationNeeds();
  const [first] = refused;
  if (first !== undefined) return first;
  if (!request.controls.requireParameters) return undefined;
  return lostFieldProblem([...dropped, ...lostEffort(request.decoded().call, deployment)]);
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
