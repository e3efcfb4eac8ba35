import { useSession } from "../api/use-answer.ts";
import type { CallSnippetsProps } from "./call-snippets.tsx";
import { exported, helloSnippets } from "./chat-snippets.ts";
import { modelSnippets } from "./media-snippets.ts";
import { useSample } from "./use-sample-model.ts";

/**
 * Builds the snippets that call a model that a key may call. `models` is the key's list of models,
 * or null if it may call all of them. `secret` is the raw key, if the page has it.
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
