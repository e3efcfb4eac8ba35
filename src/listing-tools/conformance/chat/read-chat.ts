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
  const flaw = typeFlaw(seen, seen.stream ? "text/event-stream" : "application/json");
  return flaw === undefined ? answer : { ...answer, flaws: [flaw, ...answer.flaws] };
}

function typeFlaw({ headers }: Observation, wanted: string): string | undefined {
  const stated = headers["content-type"];
  const text = Array.isArray(stated) ? stated[0] : stated;
  const type = (text ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return type === wanted ? undefined : `content-type is ${type || "absent"}, not ${wanted}`;
}

/** The flaw in status, body or content type of an answer that is not chat; undefined if none. */
export function jsonFlaw(seen: Observation): string | undefined {
  const { probe, status, body } = seen;
  if (status !== 200) return `${probe}: a usual request is answered with ${status}`;
  if (parseFields(body) === undefined) return `${probe}: the body is not a JSON object`;
  return typeFlaw(seen, "application/json");
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
