import { hash } from "node:crypto";

import type {
  Manifest,
  ManifestListingTerms,
  ManifestModel,
  ManifestProvider,
  ManifestSourceFile,
} from "../../catalog/index.ts";
import { cutText, daysBefore, defined, matchesGlob, type RawJson } from "../../kernel/index.ts";
import type { Draft, DraftChange, ImportNote, ReaderInput, Reading } from "./draft.ts";
import { isModelId, isMovingName, undatedName } from "./entry-rules.ts";
import { readGenaiPrices } from "./genai-prices.ts";
import { groupOpinions, type SourceOpinions } from "./group-opinions.ts";
import { listKnownReasons, listingHash, marketplaceId } from "./ids.ts";
import { readLitellm } from "./litellm.ts";
import { findNewestDay, mergeDrafts, type Opinion } from "./merge-drafts.ts";
import { readModelsDev } from "./models-dev.ts";
import { EVERY_AUTHOR, readOpenRouter } from "./openrouter.ts";
import type { ListingSource, ProviderHead } from "./provider-heads.ts";
import { writeListing } from "./write-listing.ts";

export interface SourceInput {
  readonly from: ListingSource;
  readonly dated: string;
  readonly bytes: Uint8Array;
  readonly document: RawJson;
}

export interface ImportInput {
  readonly head: ProviderHead & { readonly provider: ManifestProvider };
  readonly source: SourceInput;
  /** Sources of which one must agree with `source`; if empty, `source` alone is trusted. */
  readonly against: readonly SourceInput[];
  /** Patterns of marketplace or upstream ids; empty means all. */
  readonly models: readonly string[];
  readonly margin?: string;
  readonly withCapacity: boolean;
  /** Applies price changes that have begun by this day. Default: the day of each source. */
  readonly day?: string;
}

export interface ImportResult {
  /** Undefined if nothing could be listed or staged. */
  readonly manifest?: Manifest;
  readonly listed: readonly string[];
  readonly staged: readonly string[];
  readonly skipped: readonly string[];
  readonly notes: readonly ImportNote[];
  /** Marketplace ids that the leading source lacks, and on which no two other sources agree. */
  readonly unsettled: readonly string[];
}

/** Reads sources into the manifest of one provider. The same input gives the same manifest. */
export function importListings(input: ImportInput): ImportResult {
  const lead = readOpinions(input.source, input);
  const others = input.against.map((source) => readOpinions(source, input));
  const run = new ImportRun(input, lead.skipped);
  const groups = groupOpinions(lead, others, (name, id) =>
    run.skip({ model: name, code: "dated-twin", message: `is ${id}, which is listed already` }),
  );
  const files = [input.source, ...input.against];
  const denied = [lead, ...others].flatMap((each, at) => {
    const { from = "", dated = "" } = files[at] ?? {};
    return each.denied.map((id): Denial => ({ id, from, dated }));
  });
  const recentFrom = daysBefore(findNewestDay(files), RECENT_DAYS);
  const names = new Set([...groups.values()].flat().map(({ draft }) => draft.upstreamId));
  for (const id of [...groups.keys()].toSorted()) {
    run.list(id, groups.get(id) ?? [], { names, denied, recentFrom });
  }
  const dropped = others.flatMap(({ opinions }) => opinions.map(([id]) => id));
  const unsettled = [...new Set(dropped)].filter(
    (id) => !groups.has(id) && !denied.some((each) => each.id === id),
  );
  return { ...run.result(), unsettled };
}

function readOpinions(
  source: SourceInput,
  { head, day = source.dated }: Pick<ImportInput, "head" | "day">,
): SourceOpinions {
  const provider = head.sources[source.from];
  if (provider === undefined) return { opinions: [], skipped: [], denied: [] };
  const isLab = source.from === "openrouter" && provider !== EVERY_AUTHOR;
  // OpenRouter calls a maker's models by their marketplace ids.
  const toModelId = (name: string): string =>
    isLab ? name : marketplaceId(head.provider.id, name);
  const { dated } = source;
  const readings = readSource(source.from, source.document, { provider, dated, day });
  const isOwn = !isLab && source.from !== "genai-prices";
  const opinions = readings.flatMap((each): (readonly [string, Opinion])[] => {
    if (each.kind === "skipped") return [];
    const draft = isLab ? atTheLab(each.draft) : each.draft;
    return [[toModelId(each.draft.upstreamId), { from: source.from, dated, isOwn, draft }]];
  });
  const skipped = readings.flatMap((each) => (each.kind === "skipped" ? [each.note] : []));
  const denied = readings.flatMap((each) =>
    each.kind === "skipped" && each.denied !== undefined ? [toModelId(each.denied)] : [],
  );
  return { opinions, skipped, denied };
}

/** Removes the author that OpenRouter puts before each name; the maker's own names have none. */
function atTheLab(draft: Draft): Draft {
  const bare = (name: string): string => name.slice(name.indexOf("/") + 1);
  return {
    ...draft,
    upstreamId: bare(draft.upstreamId),
    resolvesTo: draft.resolvesTo.map(bare),
  };
}

/** A source more than this many days older than the newest cannot make a listing ready. */
const RECENT_DAYS = 60;

interface Denial {
  readonly id: string;
  readonly from: string;
  readonly dated: string;
}

interface RunContext {
  readonly recentFrom: string;
  readonly names: ReadonlySet<string>;
  readonly denied: readonly Denial[];
}

class ImportRun {
  readonly #input: ImportInput;
  readonly #written: (readonly [ManifestModel, ManifestListingTerms | undefined])[] = [];
  readonly #skipped: string[] = [];
  readonly #notes: ImportNote[] = [];

  constructor(input: ImportInput, skipped: readonly ImportNote[]) {
    this.#input = input;
    for (const note of skipped) this.skip(note);
  }

  skip(note: ImportNote): void {
    this.#notes.push(note);
    this.#skipped.push(note.model);
  }

  list(id: string, group: readonly Opinion[], context: RunContext): void {
    const [lead, ...others] = group;
    if (lead === undefined || !this.#isWanted(id, lead.draft)) return;
    const why = this.#unfit(id, lead.draft, context, findNewestDay(group));
    if (why !== undefined) return this.skip(why);
    const { head, against, margin, withCapacity } = this.#input;
    const { recentFrom } = context;
    const merged = mergeDrafts({ lead, others, alone: against.length === 0, recentFrom });
    this.#notes.push(...merged.notes);
    const listing = writeListing(merged, {
      id,
      head,
      withCapacity,
      stagedBecause: [...listKnownReasons(head.provider.id, id), ...(head.staged_because ?? [])],
      ...defined({ margin }),
    });
    if (listing !== undefined) this.#written.push([listing.model, listing.terms]);
    else {
      const message = "a price with the margin has over 7 whole digits";
      this.skip({ model: merged.name, code: "price-out-of-range", message });
    }
  }

  #isWanted(id: string, { upstreamId }: Draft): boolean {
    const { models } = this.#input;
    return (
      models.length === 0 ||
      models.some((glob) => matchesGlob(glob, id) || matchesGlob(glob, upstreamId))
    );
  }

  #unfit(
    id: string,
    draft: Draft,
    { names, denied }: RunContext,
    newest: string,
  ): ImportNote | undefined {
    const { name: model, upstreamId } = draft;
    const isNamed = this.#input.models.some((glob) => glob === id || glob === upstreamId);
    const undated = undatedName(upstreamId);
    if (!isModelId(id)) {
      return { model, code: "id-not-expressible", message: `the id would be ${id}` };
    }
    // A source's claim that the model is retired does not count if a newer source prices the model.
    const denial = denied.findLast((each) => each.id === id && each.dated >= newest);
    if (denial !== undefined) {
      const message = `${denial.from} says that it is retired, or none to chat with`;
      return { model, code: "not-chat", message };
    }
    if (undated !== undefined && names.has(undated) && !isNamed) {
      return { model, code: "dated-twin", message: `is ${undated} under a date` };
    }
    return isMovingName(upstreamId) && !isNamed
      ? { model, code: "alias", message: "moves to another model by itself; name it to list it" }
      : undefined;
  }

  result(): Omit<ImportResult, "unsettled"> {
    const models = this.#written.map(([model]) => model);
    const isStaged = ({ is_ready: isReady }: ManifestModel): boolean => isReady === false;
    return {
      ...(models.length > 0 && { manifest: this.#manifest() }),
      listed: models.filter((model) => !isStaged(model)).map(({ id }) => id),
      staged: models.filter(isStaged).map(({ id }) => id),
      skipped: this.#skipped.map(cutText),
      notes: this.#notes.map(({ model, code, message }) => {
        return { model: cutText(model), code, message: cutText(message) };
      }),
    };
  }

  #manifest(): Manifest {
    const { head, source, against, models, margin } = this.#input;
    const terms = this.#written.flatMap(([model, each]): [string, ManifestListingTerms][] =>
      each === undefined ? [] : [[model.id, each]],
    );
    return {
      manifest_version: "1",
      provider: head.provider,
      endpoint: head.endpoint,
      settlement: head.settlement,
      ...defined({ wire_profile: head.wire_profile }),
      models: this.#written.map(([model]) => model),
      ...(terms.length > 0 && { listing_terms: Object.fromEntries(terms) }),
      catalog_source: {
        ...toSourceFile(source),
        ...defined({ margin_percent: margin }),
        ...(against.length > 0 && { against: against.map(toSourceFile) }),
        ...(models.length > 0 && { models }),
        imported: Object.fromEntries(
          this.#written.map(([model, each]) => [model.id, listingHash(model, each)]),
        ),
      },
    };
  }
}

function toSourceFile({ from, dated, bytes }: SourceInput): ManifestSourceFile {
  return { from, dated, sha256: hash("sha256", bytes) };
}

type Reader = (document: RawJson, input: ReaderInput) => Reading[];

const READERS: Readonly<Record<ListingSource, Reader>> = {
  litellm: readLitellm,
  "models.dev": readModelsDev,
  openrouter: readOpenRouter,
  "genai-prices": readGenaiPrices,
};

/** Each entry becomes a draft, or is skipped with a note. Prices are those of `day`. */
export function readSource(
  from: ListingSource,
  document: RawJson,
  input: ReaderInput & { readonly day?: string },
): readonly Reading[] {
  const { day = input.dated } = input;
  return READERS[from](document, input).map((each): Reading =>
    each.kind === "draft" ? { ...each, draft: atDay(each.draft, day) } : each,
  );
}

function atDay(draft: Draft, day: string): Draft {
  const hasBegun = ({ from }: DraftChange): boolean => from.slice(0, 10) <= day;
  const begun = draft.changes.findLast(hasBegun);
  if (begun === undefined) return draft;
  const { sheet, tiers } = begun;
  const changes = draft.changes.filter((change) => !hasBegun(change));
  return { ...draft, prices: { sheet, tiers }, changes };
}
