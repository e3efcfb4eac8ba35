import { useState } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";

/** The props of every tab. */
export interface TabProps {
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
  /** The address names these models: what was open before gives way to them. */
  readonly isNamed: boolean;
  readonly onModels: (modelIds: readonly string[]) => void;
}

/** The one model of a tab, which the address names too; a tab always has one. */
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
