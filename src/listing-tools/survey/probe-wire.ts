import { asObject } from "../../kernel/index.ts";
import type { Wire } from "../../formats/index.ts";
import type { EndpointAsker } from "./ask-endpoint.ts";

/** Whether an endpoint serves a chat wire, tried with one token. */
export interface WireTrial {
  /** The wire's name in manifests. */
  readonly wireId: string;
  readonly answers: boolean;
  /** What was seen; never the endpoint's own text. */
  readonly seen: string;
}

/** A server may have to load the model first. */
const PROBE_TIMEOUT_MS = 120_000;

/** Asks for one token on the wire; what counts is whether the answer has the wire's form. */
export async function probeWire(
  asker: EndpointAsker,
  wire: Wire,
  upstreamId: string,
): Promise<WireTrial> {
  const questions = wire.providerQuestions;
  if (questions === undefined) return trial(wire, false, "this wire has no questions of its own");
  const answer = await asker.ask({
    from: "base",
    wire,
    path: wire.requests.path,
    headers: wire.requests.headers([]),
    body: { model: upstreamId, ...questions.writeBody({ text: "Hi", maxTokens: 1 }) },
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  if (answer.kind === "silent") return trial(wire, false, answer.reason);
  const { status, json } = answer;
  if (status < 200 || status >= 300) return trial(wire, false, `status ${status}`);
  const { flaws, usage } = questions.readWhole(asObject(json));
  const [flaw] = flaws;
  if (flaw !== undefined) return trial(wire, false, `status ${status}, but ${flaw}`);
  return usage === undefined
    ? trial(wire, false, `status ${status}, but it reports no usage, so nothing could be billed`)
    : trial(wire, true, `status ${status}`);
}

function trial(wire: Wire, answers: boolean, seen: string): WireTrial {
  return { wireId: wire.id, answers, seen };
}
