import type { Clock } from "../core/index.ts";
import type { SettlementTerms } from "../ledger/index.ts";
import { loadCatalog, type CatalogSources } from "./load-catalog.ts";

export type ReadTerms =
  | { readonly ok: true; readonly terms: ReadonlyMap<string, SettlementTerms> }
  /** Terms that were guessed would close periods that cannot be opened again. */
  | { readonly ok: false; readonly problem: string };

/** How the providers in the manifests folder are paid, as its files are now. */
export function readSettlementTerms(
  of: Pick<CatalogSources, "manifestsDir" | "isFolderOptional" | "env"> & { readonly clock: Clock },
): ReadTerms {
  const loaded = loadCatalog({ ...of, allowPrivateUpstreams: true });
  if (loaded.ok) return { ok: true, terms: loaded.settlementTerms };
  const issues = loaded.issues.map(({ file, pointer, message }) => `${file}${pointer}: ${message}`);
  return { ok: false, problem: `the manifests are not valid:\n${issues.join("\n")}` };
}
