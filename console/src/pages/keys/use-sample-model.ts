import { useAnswer } from "../../api/use-answer.ts";

/** The newest text model, so that a sample call runs as it is; a placeholder until it is known. */
export function useSampleModel(): string {
  const catalog = useAnswer("GET /api/catalog.json");
  return catalog.data?.models.find(({ modality }) => modality === "text")?.id ?? "MODEL_ID";
}
