import { simulatorManifest, type TestAccount, type TestGateway } from "./gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "./http-call.ts";

/** A host of the simulator: `sys`, `pplx`, `wai` or `gli`, with or without a suffix `-anything`. */
export interface DecisionProvider {
  readonly provider: string;
  readonly host: string;
  /** Default `/as_sent`: the host reads the marketplace's own grammar. */
  readonly path?: string;
  readonly envelope?: boolean;
  readonly priority?: number;
  readonly models: readonly object[];
}

export function decisionManifest(input: DecisionProvider): object {
  const manifest = simulatorManifest({
    ...input,
    dialect: "wire_a",
    baseUrl: `{simulator}/${input.host}/v1`,
  }) as { readonly endpoint: object };
  return {
    ...manifest,
    endpoint: {
      ...manifest.endpoint,
      decisions_path: input.path ?? "/as_sent",
      ...(input.envelope === true ? { response_envelope: "envelope_v4" } : {}),
    },
  };
}

/** A listing at $1 per million input tokens and nothing for output, like most of these listings. */
export function decisionModel(id: string, more: object = {}): object {
  return {
    id,
    output_modality: "decisions",
    context_length: 65_536,
    pricing: [
      { type: "prompt", unit: "token", cost_usd_per_million: "1" },
      { type: "completion", unit: "token", cost_usd_per_million: "0" },
    ],
    ...more,
  };
}

/** One question in the grammar of systemone listings. */
export const URGENT: object = {
  schema: { type: "boolean" },
  instructions: "Is it urgent?",
};

/** A body that any systemone listing accepts. */
export function decisionBody(model: string, more: object = {}): object {
  return { model, state: "The shop is down.", questions: { urgent: URGENT }, ...more };
}

/** A body that any GLiNER listing accepts. */
export function glinerBody(model: string, more: object = {}): object {
  const mood = { type: "classification", labels: ["good", "bad"] };
  return { model, state: "The shop is down.", questions: { mood }, ...more };
}

export async function decide(
  gateway: Pick<TestGateway, "url">,
  account: Pick<TestAccount, "key">,
  body: unknown,
): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/decisions`;
  return await httpCall(url, { body, headers: bearer(account.key) });
}
