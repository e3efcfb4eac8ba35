/** The console's pages, built once for the whole run: the program serves them and browsers open them. */
export default async function setUp(): Promise<void> {
  await import("../../scripts/build-console.ts");
}
