import { useState, useCallback } from "react";
import { useQueryClient } from "@tanstack/react-query";

import type { Model } from "../../api/contract.ts";
import { refreshAnswers } from "../../api/use-answer.ts";

export interface TabProps {
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
  /**
   * True if the page's URL names `modelIds`. After a reload, the earlier conversation is then shown
   * again only if it has the same models.
   */
  readonly isNamed: boolean;
  readonly onModels: (modelIds: readonly string[]) => void;
}

/** The chosen model. The returned function chooses another, and puts its ID into the URL. */
export function usePickedModel(props: TabProps): readonly [Model, (modelId: string) => void] {
  const [picked, setPicked] = useState(props.modelIds[0]);
  const model = props.models.find(({ id }) => id === picked) ?? props.models[0];
  if (model === undefined) throw new Error("a tab without a model is not shown");
  return [
    model,
    (modelId) => {
      setPicked(modelId);
      props.onModels([modelId]);
    },
  ];
}

/** Returns a function that reads the balance in the header again. */
export function useFreshBalance(): () => void {
  const client = useQueryClient();
  return useCallback(() => void refreshAnswers(client, []), [client]);
}
