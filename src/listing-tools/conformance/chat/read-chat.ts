import type { Deployment } from "../../../catalog/index.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";
import {
  type Fields,
  type ProviderAnswer,
  type ProviderEvent,
  SseReader,
  wires,
} from "../../../formats/index.ts";
import type { Observation } from "../probing/observation.ts";

/**
 * The provider's chat answer as it says it, before the gateway makes anything of it; undefined: its
 * wire has no such reader.
 */
export function readChat(
  { wire }: Pick<Deployment, "wire">,
  seen: Observation,
): ProviderAnswer | undefined {
  const { providerQuestions: reader } = wires.get(wire);
  if (reader === undefined) return undefined;
  const answer = seen.stream
    ? reader.readStream(eventsOf(seen.body))
    : reader.readWhole(jsonOf(seen.body));
  const wanted = seen.stream ? "text/event-stream" : "application/json";
  const type = contentTypeOf(seen);
  if (type === wanted) return answer;
  const flaw = `content-type is ${type || "absent"}, not ${wanted}`;
  return { ...answer, flaws: [flaw, ...answer.flaws] };
}

export function contentTypeOf({ headers }: Observation): string {
  const type = headers["content-type"];
  const text = Array.isArray(type) ? type[0] : type;
  return (text ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function jsonOf(body: Buffer): Fields | undefined {
  return asObject(tryParse(body.toString("utf8"))?.value);
}

function eventsOf(body: Buffer): readonly ProviderEvent[] {
  const events: ProviderEvent[] = [];
  const reader = new SseReader(({ name, data }) => {
    const text = data.toString("utf8");
    events.push({ name, text, json: asObject(tryParse(text)?.value) });
  });
  reader.push(body);
  reader.end();
  return events;
}
