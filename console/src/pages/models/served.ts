import type { ListingFigures, ModelProvider, FiguresAt } from "../../api/contract.ts";
import { formatShare } from "../../ui/format.ts";
import { showUtc } from "../../ui/time.tsx";

interface Served {
  readonly share: number;
  /** Figures of the last 30 days; null means not measured. */
  readonly byProvider: ReadonlyMap<string, ListingFigures>;
}

/** Figures by model ID. A model without calls has no entry. */
export type ServedModels = ReadonlyMap<string, Served>;

export function indexServedModels(listings: readonly ListingFigures[]): ServedModels {
  const models = new Map<string, Served>();
  for (const listing of listings) {
    const { model, provider } = listing;
    const known = models.get(model);
    models.set(model, {
      share: (known?.share ?? 0) + listing.share_of_calls,
      byProvider: new Map([...(known?.byProvider ?? []), [provider, listing]]),
    });
  }
  return models;
}

/** The figures of the model's first provider, whose prices the page also shows. */
export function servedFirst(
  served: ServedModels | undefined,
  of: { readonly id: string; readonly providers: readonly ModelProvider[] },
): ListingFigures | undefined {
  return served?.get(of.id)?.byProvider.get(of.providers[0]?.provider ?? "");
}

const DAY_MS = 86_400_000;
const DAYS = 30;

export interface ServedDay {
  readonly day: string;
  /**
   * The share, from 0 to 1, of hours with calls in which at least one succeeded. Null if the day had
   * no calls or, of all customers' calls, is not shown.
   */
  readonly uptime: number | null;
}

export function listDays(days: readonly FiguresAt[], nowMs: number): readonly ServedDay[] {
  const known = new Map(days.map(({ at, uptime }) => [Date.parse(at), uptime]));
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS }, (_, at) => {
    const ms = today - (DAYS - 1 - at) * DAY_MS;
    return { day: showUtc(new Date(ms).toISOString(), "day"), uptime: known.get(ms) ?? null };
  });
}

export function upLabel(uptime: number | null): "up" | "partly" | "down" | "none" {
  if (uptime === null) return "none";
  if (uptime === 1) return "up";
  return uptime >= 0.5 ? "partly" : "down";
}

/** All customers' figures leave out today and each day with too few customers or calls. */
interface Counted {
  readonly isShared: boolean;
}

export function dayTitle({ day, uptime }: ServedDay, { isShared }: Counted): string {
  const none = isShared ? "not shown" : "no calls";
  return `${day}: ${uptime === null ? none : formatShare(uptime)}`;
}

/** A sentence for screen readers: the number of days with figures, and each day below 100%. */
export function spokenDays(days: readonly ServedDay[], { isShared }: Counted): string {
  const used = days.filter(({ uptime }) => uptime !== null);
  if (used.length === 0) return isShared ? "No day is shown" : "No calls in 30 days";
  const bad = used.flatMap(({ day, uptime }) =>
    uptime === null || uptime === 1 ? [] : [`${day} ${formatShare(uptime)}`],
  );
  const count = used.length === 1 ? "1 day" : `${used.length} days`;
  const found = bad.length === 0 ? "all of them 100%" : `below 100% on ${bad.join(", ")}`;
  return `Uptime of ${count} ${isShared ? "with figures" : "with calls"}: ${found}`;
}
