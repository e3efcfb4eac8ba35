import { difference, type Opinion } from "./merge-drafts.ts";
import type { ImportNote } from "./draft.ts";
import { undatedName } from "./entry-rules.ts";

export interface SourceOpinions {
  readonly opinions: readonly (readonly [id: string, opinion: Opinion])[];
  readonly skipped: readonly ImportNote[];
  /** Marketplace ids of models that are retired or do not chat, according to this source. */
  readonly denied: readonly string[];
}

/** By marketplace id: what each source says about the model. The first source names the model. */
export type Groups = ReadonlyMap<string, readonly Opinion[]>;

/**
 * Keeps a model that the leading source has, or on which two others agree (`agreeingFirst`). If the
 * leading source has two names for one model, drops one of them, and calls `twin` with that name.
 */
export function groupOpinions(
  lead: SourceOpinions,
  others: readonly SourceOpinions[],
  twin: (name: string, id: string) => void,
): Groups {
  const groups = new Map<string, Opinion[]>();
  const add = (id: string, opinion: Opinion, isLead: boolean): void => {
    const group = groups.get(id);
    const same =
      group?.findIndex(({ from, dated }) => from === opinion.from && dated === opinion.dated) ?? -1;
    if (group === undefined) groups.set(id, [opinion]);
    else if (same < 0) group.push(opinion);
    else {
      // Of two names for one model, the name without a date is kept.
      const [kept, dropped] = preferred(group[same] ?? opinion, opinion);
      group[same] = kept;
      if (isLead) twin(dropped.draft.name, id);
    }
  };
  for (const [id, opinion] of lead.opinions) add(id, opinion, true);
  const led = new Set(groups.keys());
  const exact = others.filter((each) => !hasMatchers(each));
  for (const [id, opinion] of exact.flatMap((each) => each.opinions)) add(id, opinion, false);
  for (const source of others.filter(hasMatchers)) {
    for (const group of groups.values()) {
      const opinion = matching(source, group[0]?.draft.upstreamId ?? "");
      if (opinion !== undefined) group.push(opinion);
    }
  }
  return new Map(
    [...groups].flatMap(([id, group]): [string, readonly Opinion[]][] => {
      const ordered = led.has(id) ? group : agreeingFirst(group);
      return ordered.length === 0 ? [] : [[id, ordered]];
    }),
  );
}

function preferred(a: Opinion, b: Opinion): readonly [Opinion, Opinion] {
  const isDated = (each: Opinion): boolean => undatedName(each.draft.upstreamId) !== undefined;
  return isDated(a) && !isDated(b) ? [b, a] : [a, b];
}

function hasMatchers({ opinions }: SourceOpinions): boolean {
  return opinions.some(([, { draft }]) => draft.matches !== undefined);
}

function matching({ opinions }: SourceOpinions, upstreamId: string): Opinion | undefined {
  const all = opinions.map(([, opinion]) => opinion);
  return (
    all.find(({ draft }) => draft.upstreamId === upstreamId) ??
    all.find(({ draft }) => draft.matches?.(upstreamId) === true)
  );
}

/**
 * For a model that the leading source lacks: puts first a source that uses the provider's own names
 * and agrees with another source. Returns nothing if no source does.
 */
function agreeingFirst(group: readonly Opinion[]): readonly Opinion[] {
  const lead = group.find(
    (each) =>
      each.isOwn &&
      group.some(
        (other) => other.from !== each.from && difference(each.draft, other.draft) === undefined,
      ),
  );
  return lead === undefined ? [] : [lead, ...group.filter((each) => each !== lead)];
}
