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

/** Parses the answer as the provider sent it. Undefined if the wire has no parser. */
export function readChat(
  { wire }: Pick<Deployment, "wire">,
  seen: Observation,
): ProviderAnswer | undefined {
  const { providerQuestions: reader } = wires.get(wire);
  if (reader === undefined) return undefined;
  const answer = seen.stream
    ? reader.readStream(readEvents(seen.body))
    : reader.readWhole(parseFields(seen.body));
  const wanted = seen.stream ? "text/event-stream" : "application/json";
  const type = readContentType(seen);
  if (type === wanted) return answer;
  const flaw = `content-type is ${type || "absent"}, not ${wanted}`;
  return { ...answer, flaws: [flaw, ...answer.flaws] };
}

export function readContentType({ headers }: Observation): string {
  const type = headers["content-type"];
  const text = Array.isArray(type) ? type[0] : type;
  return (text ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function parseFields(body: Buffer): Fields | undefined {
  return asObject(tryParse(body.toString("utf8"))?.value);
}

function readEvents(body: Buffer): readonly ProviderEvent[] {
  const events: ProviderEvent[] = [];
  const reader = new SseReader(({ name, data }) => {
    const text = data.toString("utf8");
    events.push({ name, text, json: asObject(tryParse(text)?.value) });
  });
  reader.push(body);
  reader.end();
  return events;
}
