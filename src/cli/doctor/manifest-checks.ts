import { CHECK_DAYS_MAX, oldChecks } from "../../catalog/index.ts";
import { clock } from "../command-context.ts";
import { type CheckGroup, type DoctorCheck, type Examined, named } from "./doctor-check.ts";

/** The manifests folder, the keys of the providers in it, and how old their price checks are. */
export const manifestChecks: CheckGroup = (examined) => [
  manifestCheck(examined),
  ...keyChecks(examined),
  ...priceChecks(examined),
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

/** Only where manifests say when their prices were checked. */
function priceChecks({ loaded }: Examined): readonly DoctorCheck[] {
  if (!loaded.ok || !loaded.catalog.deployments.some(({ checked }) => checked !== undefined)) {
    return [];
  }
  const id = "price checks";
  const old = oldChecks(loaded.catalog, clock.nowMs());
  if (old.length === 0) {
    return [{ id, level: "ok", detail: `none is older than ${CHECK_DAYS_MAX} days` }];
  }
  const names = named(old.map(({ providerId, oldestOn }) => `${providerId} (${oldestOn})`));
  const next = "compare them with `tokenmarket manifest refresh`";
  const detail = `checked over ${CHECK_DAYS_MAX} days ago: ${names}; ${next}`;
  return [{ id, level: "warning", detail }];
}
