import { CHECK_DAYS_MAX, isBelowCost, staleListings } from "../../catalog/index.ts";
import { type CheckGroup, type DoctorCheck, type Examined, named } from "./doctor-check.ts";

/** The manifests folder, the keys of the providers in it, and how old their price checks are. */
export const manifestChecks: CheckGroup = (examined) => [
  manifestCheck(examined),
  ...keyChecks(examined),
  ...stagedChecks(examined),
  ...priceChecks(examined),
  ...costChecks(examined),
];

function manifestCheck({ config, loaded }: Examined): DoctorCheck {
  if (loaded.ok) {
    const detail = `${loaded.catalog.models.length} models in ${config.manifestsDir}`;
    return { id: "manifests", level: "ok", detail };
  }
  const detail = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
  return { id: "manifests", level: "problem", detail: detail.join("; ") };
}

function keyChecks({ loaded }: Examined): readonly DoctorCheck[] {
  if (!loaded.ok) return [];
  const withoutKey = loaded.catalog.deployments.filter(
    ({ notReady }) => notReady === "key_missing" || notReady === "key_elsewhere",
  );
  const level = withoutKey.length === 0 ? "ok" : "warning";
  const variables = new Set(withoutKey.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));
  const detail =
    level === "ok"
      ? "every provider has its key"
      : `${withoutKey.length} listings are not routed: put the keys of their providers into ${named([...variables])}; ` +
        "`tokenmarket catalog build` names each";
  return [{ id: "provider keys", level, detail }];
}

/** Providers that serve nothing, whatever keys there are: who has paid for a key asks why. */
function stagedChecks({ loaded }: Examined): readonly DoctorCheck[] {
  if (!loaded.ok) return [];
  const staged = new Set(loaded.catalog.deployments.map(({ providerId }) => providerId));
  for (const { providerId, notReady } of loaded.catalog.deployments) {
    if (notReady !== "staged") staged.delete(providerId);
  }
  if (staged.size === 0) return [];
  const detail = `nothing of ${named([...staged])} is ready; \`tokenmarket catalog build\` says why each listing is staged`;
  return [{ id: "staged providers", level: "warning", detail }];
}

/** Only of what is routed, and where manifests say when their prices were checked. */
function priceChecks({ loaded }: Examined): readonly DoctorCheck[] {
  if (!loaded.ok) return [];
  const routed = loaded.catalog.models.flatMap(({ deployments }) => deployments);
  const checked = routed.filter((each) => each.checked !== undefined).length;
  if (checked === 0) return [];
  const id = "price checks";
  const stale = staleListings(loaded.catalog);
  if (stale.length === 0) {
    const detail = `those of ${checked} listings are not older than ${CHECK_DAYS_MAX} days`;
    return [{ id, level: "ok", detail }];
  }
  const names = named(stale.map(({ deployment, on }) => `${deployment.id} (${on})`));
  const next = "compare them with `tokenmarket manifest refresh`";
  const detail = `checked over ${CHECK_DAYS_MAX} days ago: ${names}; ${next}`;
  return [{ id, level: "warning", detail }];
}

/** What it lost is a check of the database. */
function costChecks({ loaded }: Examined): readonly DoctorCheck[] {
  if (!loaded.ok) return [];
  const below = loaded.catalog.deployments.filter(isBelowCost);
  if (below.length === 0) return [];
  const detail = `sold for less than their providers are owed: ${named(below.map(({ id }) => id))}; raise their pricing`;
  return [{ id: "prices below cost", level: "warning", detail }];
}
