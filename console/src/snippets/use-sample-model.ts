import type { Model } from "../../../src/account/console-api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { useSession } from "../api/use-session.ts";
import type { CallSnippetsProps } from "./call-snippets.tsx";
import { exported, helloSnippets } from "./chat-snippets.ts";
import { modelSnippets } from "./media-snippets.ts";
import { pickSampleModel } from "./pick-sample-model.ts";

/** A model that a sample call runs with as it is; a placeholder until it is known. */
export function useSampleModel(): string {
  return useSample(null).modelId;
}

/**
 * A sample call that answers with this key: of a model that the key may call, on that model's route.
 * `models`: those of its list; null: it has none. `secret`: the key itself, where the page has it.
 */
export function useSampleCall(
  models: readonly string[] | null,
  secret?: string,
): Pick<CallSnippetsProps, "of" | "hasOneRoute"> & { readonly modelId: string } {
  const { gateway_url: gatewayUrl } = useSession().installation;
  const { modelId, model } = useSample(models);
  if (model === undefined || model.modality === "text") {
    return {
      modelId,
      of: (wire, isStream) => helloSnippets(wire, { gatewayUrl, modelId, secret, isStream }),
    };
  }
  return {
    modelId,
    hasOneRoute: true,
    of: () =>
      modelSnippets(model, gatewayUrl).map(({ label, code }) => ({
        label,
        code: label === "curl" ? `${exported(secret)}${code}` : code,
      })),
  };
}

function useSample(allowed: readonly string[] | null): {
  readonly modelId: string;
  readonly model: Model | undefined;
} {
  const listed = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const providers = useAnswer("GET /api/providers.json").data?.providers ?? [];
  const models = allowed === null ? listed : listed.filter(({ id }) => allowed.includes(id));
  const picked = pickSampleModel(models, providers);
  const model =
    models.find(({ id }) => id === picked) ?? (allowed === null ? undefined : models[0]);
  return { model, modelId: model?.id ?? allowed?.[0] ?? "MODEL_ID" };
}
