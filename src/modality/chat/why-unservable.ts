import { assert } from "../../core/assert.ts";
import type { Deployment } from "../../catalog/catalog.ts";
import type { ChatRequest } from "../../wire/chat-request.ts";
import type { Unservable } from "../../wire/chat-wire.ts";
import { lostEffort } from "../../wire/neutral/effort.ts";
import { ReadRequest } from "./read-request.ts";
import { sameWireDrops, undeclaredPrice } from "./same-wire-drops.ts";

/** Why this deployment cannot serve the request as sent; undefined when it can. */
export function whyUnservable(
  request: ChatRequest,
  deployment: Deployment,
): Unservable | undefined {
  return (
    tooWarm(request, deployment) ??
    undeclaredMedia(request, deployment) ??
    (deployment.wire === request.wire
      ? whyNotAsPriced(request, deployment)
      : whyNotAcross(request, deployment))
  );
}

/** wire_b ends at 1; wire_a goes to 2, which reading a body has checked. */
function tooWarm(request: ChatRequest, deployment: Deployment): Unservable | undefined {
  if (deployment.wire !== "wire_b" || (request.temperature ?? 0) <= 1) return undefined;
  const message =
    "temperature is above 1, which the providers of this model do not accept; lower it";
  return { field: "temperature", message };
}

function undeclaredMedia(request: ChatRequest, deployment: Deployment): Unservable | undefined {
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
function whyNotAsPriced(request: ChatRequest, deployment: Deployment): Unservable | undefined {
  assert(request instanceof ReadRequest, "a chat request is one that readChatRequest made");
  const undeclared = undeclaredPrice(request, deployment);
  if (undeclared !== undefined || !request.controls.requireParameters) return undeclared;
  return whyLost(sameWireDrops(request, deployment).names);
}

function whyNotAcross(request: ChatRequest, deployment: Deployment): Unservable | undefined {
  assert(request instanceof ReadRequest, "a chat request is one that readChatRequest made");
  const { refused, dropped } = request.crossing();
  const [first] = refused;
  if (first !== undefined) return first;
  if (!request.controls.requireParameters) return undefined;
  return whyLost([...dropped, ...lostEffort(request.decoded().call, deployment)]);
}

function whyLost([lost]: readonly string[]): Unservable | undefined {
  if (lost === undefined) return undefined;
  return {
    field: lost,
    message:
      `${lost} would be dropped for the providers of this model, and ` +
      "provider.require_parameters forbids that; remove one of them",
  };
}
