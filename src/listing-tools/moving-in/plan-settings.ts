import type { Manifest } from "../../catalog/index.ts";
import { defined, groupBy, type RawJson } from "../../kernel/index.ts";
import { isPrivateAddress } from "../../upstream/index.ts";
import type { MovedListing } from "./build-manifests.ts";
import type { Fates } from "./fates.ts";
import { numberAt, settingAt } from "./setting-tree.ts";

export interface PlannedSetting {
  readonly setting: string;
  readonly value: string | number | boolean;
}

export interface PlannedPool {
  readonly id: string;
  readonly listings: readonly string[];
  readonly org_share: "three_quarters";
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrent?: number;
}

type Rule = readonly [path: readonly [string, string], setting: string, factor: number];

/** Of two rules for one setting, the first whose path is configured applies, as in LiteLLM. */
const RULES: readonly Rule[] = [
  [["router_settings", "timeout"], "timeouts.generation_ms", 1_000],
  [["litellm_settings", "request_timeout"], "timeouts.generation_ms", 1_000],
  [["router_settings", "stream_timeout"], "timeouts.first_content_ms", 1_000],
  [["general_settings", "global_max_parallel_requests"], "limits.platform_concurrent_requests", 1],
];

const WHOLE_NUMBER = /^\d{1,9}(?:\.0*)?$/;

export function planSettings(
  config: RawJson,
  fates: Fates,
  settingProblem: (planned: PlannedSetting) => string | undefined,
): PlannedSetting[] {
  const planned = new Map<string, PlannedSetting>();
  for (const [path, setting, factor] of RULES) {
    const [section, field] = path;
    const text = numberAt(settingAt(config, section), field);
    if (text === undefined || !WHOLE_NUMBER.test(text)) continue;
    const value = Number(text) * factor;
    const first = planned.get(setting);
    if (first !== undefined) {
      fates.ignored(path, { why: `${setting} is ${first.value} already, by another setting` });
      continue;
    }
    const problem = settingProblem({ setting, value });
    if (problem === undefined) {
      planned.set(setting, { setting, value });
      fates.carried(path, { why: `${setting} is ${value} in tokenmarket.yaml` });
    } else {
      fates.notCarried(path, { why: problem, next: `set ${setting} by hand` });
    }
  }
  return [...planned.values()];
}

/** The settings that manifests need if servers share a key or have private addresses. */
export function planManifestSettings(manifests: readonly Manifest[]): PlannedSetting[] {
  const origins = new Map<string, Set<string>>();
  for (const { endpoint } of manifests) {
    const name = endpoint.api_key_env;
    if (name === undefined) continue;
    origins.set(name, (origins.get(name) ?? new Set()).add(new URL(endpoint.base_url).origin));
  }
  const shared = [...origins].filter(([, places]) => places.size > 1);
  const pairs = shared.flatMap(([name, places]) => [...places].map((place) => `${name}=${place}`));
  const isPrivate = manifests.some(({ endpoint }) => isPrivateHost(endpoint.base_url));
  return [
    ...(pairs.length === 0 ? [] : [{ setting: "provider_key_origins", value: pairs.join(",") }]),
    ...(isPrivate ? [{ setting: "allow_private_upstreams", value: true }] : []),
  ];
}

function isPrivateHost(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  if (isPrivateAddress(hostname)) return true;
  // Where such names lead is not known here, but public name servers do not know them.
  return !/[.:]/.test(hostname) || /\.(local|internal|lan|svc|localhost)$/.test(hostname);
}

export function planPools(listings: readonly MovedListing[]): PlannedPool[] {
  const byDeployment = groupBy(listings, ({ path }) => JSON.stringify(path));
  return [...byDeployment.values()].flatMap((alike, at): PlannedPool[] => {
    const [{ capacity, providerId }] = alike as [MovedListing];
    const { requestsPerMinute: rpm, tokensPerMinute: tpm, concurrent } = capacity;
    if (rpm === undefined && tpm === undefined && concurrent === undefined) return [];
    return [
      {
        id: `${providerId.slice(0, 56)}-${at + 1}`,
        listings: alike.map((each) => `${each.providerId}/${each.id}`),
        org_share: "three_quarters",
        ...defined({ requests_per_minute: rpm, tokens_per_minute: tpm, concurrent }),
      },
    ];
  });
}
