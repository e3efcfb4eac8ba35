import type { Deployment } from "../../../catalog/index.ts";
import { ABSENT, type JsonDocument, type JsonText } from "../../../kernel/index.ts";
import { word } from "./chat-vocabulary.ts";

export type OutputBoundName = "max_tokens" | "max_completion_tokens";

/**
 * The one name under which a wire_a deployment takes the output bound: the one its listing
 * declares. A provider that ignores the other name would write without any bound.
 */
export function outputBoundName(deployment: Deployment, sent?: OutputBoundName): OutputBoundName {
  const taken = deployment.supportedParameters;
  if (sent !== undefined && taken.has(sent)) return sent;
  return taken.has("max_completion_tokens") && !taken.has("max_tokens")
    ? "max_completion_tokens"
    : "max_tokens";
}

/** `provider.upstream` as sent, for an aggregator (priority 1 and above): its own `provider`. */
export function upstreamControls(
  doc: JsonDocument,
  deployment: Pick<Deployment, "priority">,
): JsonText | undefined {
  const controls = doc.present(0, word.provider);
  if (controls === ABSENT || deployment.priority < 1) return undefined;
  const upstream = doc.present(controls, word.upstream);
  return upstream === ABSENT ? undefined : doc.raw(upstream);
}
