export function formatCount(count: number): string {
  return WHOLE.format(count);
}

/** Writes a share like `formatShare`, but as `"<1%"` if it is below one percent. */
export function formatPart(share: number): string {
  return share < 0.01 ? "<1%" : formatShare(share);
}

/** Writes a share from 0 to 1, such as `"2.5%"`. Only 0 becomes `"0%"` and only 1 `"100%"`. */
export function formatShare(share: number): string {
  if (share > 0 && share < 0.0005) return "<0.1%";
  return SHARE.format(share < 1 ? Math.min(share, 0.999) : share);
}

/** Writes a duration, such as `"840 ms"`, `"2.4 s"` or `"1.5 min"`. Null becomes a dash. */
export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1000) return `${WHOLE.format(ms)} ms`;
  return ms < 60_000 ? `${TENTHS.format(ms / 1000)} s` : `${TENTHS.format(ms / 60_000)} min`;
}

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const SHARE = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 });

/** The English name of a country code, such as `"Germany"`. An unknown code stays as it is. */
export function countryName(code: string): string {
  try {
    return COUNTRIES.of(code) ?? code;
  } catch {
    return code;
  }
}
const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
