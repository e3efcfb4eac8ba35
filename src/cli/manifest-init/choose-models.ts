import { matchesGlob } from "../../kernel/index.ts";
import { modelName, type SurveyedModel } from "../../listing-tools/index.ts";

export interface Choosable {
  readonly names: readonly string[];
}

/** Returns the models whose names match a pattern (`*` is any text), or all without patterns. */
export function chosenBy<T extends Choosable>(
  globs: readonly string[],
  models: readonly T[],
): readonly T[] {
  if (globs.length === 0) return models;
  return models.filter(({ names }) =>
    globs.some((glob) => names.some((name) => matchesGlob(glob, name))),
  );
}

/** Patterns that match no model, such as typing errors. They would silently leave out a model. */
export function uselessGlobs(
  globs: readonly string[],
  models: readonly Choosable[],
): readonly string[] {
  return globs.filter(
    (glob) => !models.some(({ names }) => names.some((name) => matchesGlob(glob, name))),
  );
}

/** If two models would have the same name on the marketplace, keeps the first of them. */
export function distinctNames(models: readonly SurveyedModel[]): {
  readonly kept: readonly SurveyedModel[];
  readonly twice: readonly SurveyedModel[];
} {
  const byName = new Map<string, SurveyedModel>();
  const twice: SurveyedModel[] = [];
  for (const model of models) {
    const name = modelName(model.upstreamId);
    if (byName.has(name)) twice.push(model);
    else byName.set(name, model);
  }
  return { kept: [...byName.values()], twice };
}
