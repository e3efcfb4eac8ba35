import { simulatorManifest, tokenPrices } from "./gateway.ts";

/** Returns a listing: $5 per million prompt tokens, $40 per million output tokens. */
export function imageModel(id: string, more: object = {}): object {
  return {
    id,
    output_modality: "image",
    max_output_tokens: 6_000,
    supported_parameters: {
      n: { type: "integer", min: 1, max: 4, default: 1 },
      size: { type: "enum", values: ["1024x1024", "1536x1024"] },
      quality: { type: "enum", values: ["low", "medium", "high"] },
      output_format: { type: "enum", values: ["png", "jpeg", "webp"] },
      output_compression: { type: "range", min: 0, max: 100 },
    },
    pricing: tokenPrices({ prompt: 5, completion: 40 }),
    ...more,
  };
}

export function meteredImageModel(id: string, more: object = {}): object {
  return imageModel(id, {
    max_output_tokens: 50_000,
    supported_parameters: {
      n: { type: "integer", min: 1, max: 4 },
      aspect_ratio: { type: "enum", values: ["1:1", "16:9"] },
      resolution: { type: "enum", values: ["1K", "2K"] },
    },
    pricing: tokenPrices({ prompt: 0, completion: 1 }),
    price_card: [{ unit: "image", cost_usd: "0.02" }],
    ...more,
  });
}

export function imageManifest(input: {
  readonly provider?: string;
  readonly baseUrl: string;
  readonly models: readonly object[];
  readonly priority?: number;
  readonly dialect?: "wire_a" | "wire_b";
  readonly endpoint?: object;
}): object {
  return simulatorManifest({ provider: "painter", dialect: "wire_a", ...input });
}
