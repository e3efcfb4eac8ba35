import { chmodSync } from "node:fs";
import { openBooks } from "./books.ts";
import { fillInstallation, settleDatabase } from "./fill-books.ts";
import type { MockProvider } from "./installation.ts";
import type { Say } from "./program.ts";
import { MODELS_PER_PROVIDER, modelIdOf, providerIdOf, type Sizes } from "./sizes.ts";

/** Fills the empty data folder of an installation. */
export async function fillBooks(dataFolder: string, sizes: Sizes, say: Say): Promise<void> {
  chmodSync(dataFolder, 0o755); // as root the database runs as another user, who must get in
  const books = await openBooks(dataFolder);
  try {
    await books.backend.migrate();
    await fillInstallation(books.connectionString, sizes, say);
    await settleDatabase(books.connectionString);
  } finally {
    await books.close();
  }
}

/** The providers of the listings that such books are about. */
export function grownProviders({ listings }: Sizes, mockPort: number): readonly MockProvider[] {
  const ids = Array.from({ length: listings }, (_, listing) => listing);
  const firsts = ids.filter((listing) => listing % MODELS_PER_PROVIDER === 0);
  return firsts.map((first) => ({
    id: providerIdOf(first),
    wire: "wire_a",
    mockPort,
    modelIds: ids.slice(first, first + MODELS_PER_PROVIDER).map(modelIdOf),
  }));
}
