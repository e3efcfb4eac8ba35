import { join } from "node:path";

import { readOutbound } from "../../app/index.ts";
import type { Manifest } from "../../catalog/index.ts";
import type { Config } from "../../kernel/index.ts";
import {
  type ProviderHead,
  splitServed,
  presentText,
  surveyEndpoint,
  withListings,
  withMargin,
} from "../../listing-tools/index.ts";
import { clock, UsageFault } from "../command-context.ts";
import { chosenBy, uselessGlobs } from "./choose-models.ts";
import { conformanceCommand, type InitResult, type ModelNote, startResult } from "./init-flags.ts";
import { surveyFault } from "./own-endpoint.ts";
import { keyIssue, manifestText, placeProblems } from "./write-manifest.ts";

export interface HostedRequest {
  readonly config: Config;
  readonly head: ProviderHead;
  readonly manifest: Manifest;
  /** The provider's key; undefined if the provider is not asked which models it serves. */
  readonly key: string | undefined;
  readonly file: string;
  readonly globs: readonly string[];
  readonly margin: string | undefined;
}

export type HostedDraft =
  | { readonly ok: true; readonly text: string; readonly result: InitResult }
  | { readonly ok: false; readonly result: InitResult };

/** Drafts a manifest of those shipped listings that the provider serves to this key. */
export async function draftHosted(request: HostedRequest): Promise<HostedDraft> {
  const { config, head, file, globs, margin } = request;
  const { found, notes, skipped } = await keepServed(request);
  const named = found.models.map((model) => ({ model, names: listNames(model) }));
  const useless = uselessGlobs(globs, named);
  if (useless.length > 0) {
    throw new UsageFault(`--models: ${head.provider.id} has no model named ${useless.join(", ")}`);
  }
  const chosen = withListings(
    found,
    chosenBy(globs, named).map(({ model }) => model),
    globs.length > 0,
  );
  const providerId = chosen.provider.id;
  const base = startResult(providerId, { skipped, notes });
  if (chosen.models.length === 0) {
    return { ok: false, result: { ...base, issues: [`${providerId}: no model to list`] } };
  }
  const manifest = margin === undefined ? chosen : withMargin(chosen, margin);
  const text = manifestText(manifest);
  const issues = placeProblems(config, file, text);
  if (issues.length > 0) return { ok: false, result: { ...base, issues } };
  return {
    ok: true,
    text,
    result: {
      ...base,
      file,
      listed: manifest.models.map(({ id }) => id),
      notes: [...notes, ...manifest.models.filter(isStaged).map(stagedNote(manifest))],
      conformance: conformanceCommand(file, config.allowPrivateUpstreams),
    },
  };
}

export function toManifestPath(config: Config, providerId: string): string {
  return join(config.manifestsDir, `${providerId}.json`);
}

interface Served {
  readonly found: Manifest;
  readonly skipped: readonly ModelNote[];
  readonly notes: readonly ModelNote[];
}

async function keepServed(request: HostedRequest): Promise<Served> {
  const { config, manifest, key, file } = request;
  const { base_url: baseUrl, dialect, api_key_env: apiKeyEnv } = manifest.endpoint;
  const everything = { found: manifest, skipped: [], notes: [] };
  if (key === undefined || apiKeyEnv === undefined) return everything;
  // Checks that the key may be sent to `baseUrl`, because it may belong to another endpoint.
  const issue = keyIssue(config, file, { baseUrl, apiKeyEnv });
  if (issue !== undefined) throw new UsageFault(issue);
  const { wire_profile: wireProfile } = manifest;
  const outcome = await surveyEndpoint(
    { baseUrl, key, wireId: dialect, isSelfHosted: false, ...(wireProfile && { wireProfile }) },
    {
      clock,
      allowPrivateUpstreams: config.allowPrivateUpstreams,
      outbound: readOutbound(config),
    },
  );
  if (!outcome.ok && outcome.code === "no_list") {
    const message = `${presentText(baseUrl)}: ${outcome.message}; all of its listings were taken`;
    return { ...everything, notes: [{ model: "*", code: "no_list", message }] };
  }
  if (!outcome.ok) throw surveyFault(baseUrl, outcome);
  const { survey } = outcome;
  const servedIds = survey.models.map(({ upstreamId }) => upstreamId);
  const { served, unserved } = splitServed(manifest, servedIds);
  return {
    found: withListings(manifest, served),
    notes: [],
    skipped: unserved.map(({ id }) => ({
      model: id,
      code: "not_served",
      message: "the provider does not list it for this key",
    })),
  };
}

type Model = Manifest["models"][number];

function listNames({ id, upstream_id: upstreamId = id }: Model): readonly string[] {
  return [id, id.replace(/^[^/]*\//, ""), upstreamId];
}

function isStaged({ is_ready: isReady }: Model): boolean {
  return isReady === false;
}

function stagedNote({ listing_terms: terms }: Manifest): (model: Model) => ModelNote {
  return ({ id }) => {
    const reasons = terms?.[id]?.staged_because ?? [];
    const why = reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
    return { model: id, code: "staged", message: `it is listed and not sold yet${why}` };
  };
}
