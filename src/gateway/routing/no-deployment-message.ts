import type { Unservable } from "../../formats/index.ts";

/**
 * One message for a request that no deployment of the model can serve, out of the reasons that each
 * of them has. A listing that declares every part says more than one that does not; where none
 * does, the kinds are those of all listings together.
 */
export function noDeploymentMessage(modelId: string, reasons: readonly Unservable[]): string {
  const declared = reasons.find(({ undeclared }) => undeclared === undefined);
  if (declared !== undefined) return declared.message;
  const taken = new Set(reasons.flatMap(({ undeclared }) => [...(undeclared?.taken ?? [])]));
  for (const { field, undeclared } of reasons) {
    if (undeclared === undefined || taken.has(undeclared.kind)) continue;
    const { kind } = undeclared;
    return (
      `${field} is a part of kind ${kind}; ${modelId} accepts ${[...taken].join(", ")}; ` +
      `send one of these or choose a model that accepts ${kind}`
    );
  }
  // Each part is declared somewhere, but no listing declares them all.
  return `no listing of ${modelId} accepts every part of this request; ${reasons[0]?.message}`;
}
