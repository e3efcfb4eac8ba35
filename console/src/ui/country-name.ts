/** The English name of a country code, such as `"Germany"`. An unknown code stays as it is. */
export function countryName(code: string): string {
  try {
    return COUNTRIES.of(code) ?? code;
  } catch {
    return code;
  }
}
const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
