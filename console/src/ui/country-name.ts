/**
 * Returns the English name of a country code, such as `"Germany"`. Returns an unknown code as it
 * is.
 */
export function countryName(code: string): string {
  try {
    return COUNTRIES.of(code) ?? code;
  } catch {
    return code;
  }
}
const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
