import { simulatorManifest, type TestAccount, type TestGateway, tokenPrices } from "./gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "./http-call.ts";

/** A provider that the simulator plays; `host` begins with `sys`, `pplx`, `wai` or `gli`. */
interface DecisionProvider {
  readonly provider: string;
  readonly host: string;
  /** Default: `/as_sent`, where the simulator reads this gateway's own grammar. */
  readonly path?: string;
  readonly envelope?: boolean;
  readonly priority?: number;
  readonly models: readonly object[];
}

export function decisionManifest(input: DecisionProvider): object {
  return simulatorManifest({
    ...input,
    dialect: "wire_a",
    baseUrl: `{simulator}/${input.host}/v1`,
    endpoint: {
      decisions_path: input.path ?? "/as_sent",
      ...(input.envelope === true ? { response_envelope: "envelope_v4" } : {}),
    },
  });
}

export function decisionModel(id: string, more: object = {}): object {
  return {
    id,
    output_modality: "decisions",
    context_length: 65_536,
    pricing: tokenPrices({ prompt: 1, completion: 0 }),
    ...more,
  };
}

export const URGENT: object = {
  schema: { type: "boolean" },
  instructions: "Is it urgent?",
};

export function decisionBody(model: string, more: object = {}): object {
  return { model, state: "The shop is down.", questions: { urgent: URGENT }, ...more };
}

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
