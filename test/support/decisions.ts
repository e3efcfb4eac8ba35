import { simulatorManifest, type TestAccount, type TestGateway } from "./gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "./http-call.ts";

/** A provider that the simulator plays; `host` begins with `sys`, `pplx`, `wai` or `gli`. */
export interface DecisionProvider {
  readonly provider: string;
  readonly host: string;
  /** Default: `/as_sent`, where the simulator reads this gateway's own grammar. */
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

/** Returns a listing: $1 per million input tokens, and free output as in most such listings. */
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

/** One yes-or-no question in the format of the decisions wire `systemone`. */
export const URGENT: object = {
  schema: { type: "boolean" },
  instructions: "Is it urgent?",
};

/** Returns a body that any systemone listing accepts. */
export function decisionBody(model: string, more: object = {}): object {
  return { model, state: "The shop is down.", questions: { urgent: URGENT }, ...more };
}

/** Returns a body that any GLiNER listing accepts. */
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
