/** `"Germany"`; a code without a name stays the code. */
export function countryName(code: string): string {
  try {
    return COUNTRIES.of(code) ?? code;
  } catch {
    return code;
  }
}
const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
