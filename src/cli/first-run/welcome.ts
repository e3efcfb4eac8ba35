import type { OpenedAccount } from "./open-account.ts";
import type { ListedProvider } from "./list-providers.ts";
import type { TriedModel } from "./check-listings.ts";

export interface Welcome {
  readonly providers: readonly ListedProvider[];
  readonly tried: readonly TriedModel[];
  readonly account: OpenedAccount;
  readonly orgName: string;
  readonly modelId: string;
  readonly gatewayUrl: string;
  readonly isServing: boolean;
  readonly serveCommand: string;
  readonly warnings: readonly string[];
}

const ANSWER_TOKENS = 256;

export function welcomeText(welcome: Welcome): string {
  const { account, isServing, orgName, providers, serveCommand, tried, warnings } = welcome;
  return [
    ...providers.flatMap(providerLines),
    ...tried.map(triedLine),
    ...warnings.map((warning) => `warning: ${warning}`),
    "",
    `organization  ${account.orgId}  ${orgName}, $${account.balanceUsd} of credit`,
    `key           ${account.key}`,
    "              This is the only time the key is shown.",
    "",
    ...(isServing ? ["The gateway starts now. Try it:"] : ["Start the gateway:", ""]),
    ...(isServing ? [] : [`  ${serveCommand}`, "", "Then try it:"]),
    "",
    curlText(welcome),
  ].join("\n");
}

export function curlText({ account, gatewayUrl, modelId }: Welcome): string {
  const body = {
    model: modelId,
    max_tokens: ANSWER_TOKENS,
    messages: [{ role: "user", content: "Say hello" }],
  };
  return [
    `  curl -s ${gatewayUrl}/v1/chat/completions \\`,
    `    -H 'authorization: Bearer ${account.key}' -H 'content-type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
  ].join("\n");
}

export function welcomeJson(welcome: Welcome): object {
  const { account, gatewayUrl, modelId, providers, serveCommand, tried, warnings } = welcome;
  return {
    ok: true,
    providers: providers.map(providerJson),
    tried: tried.map(({ file, modelId: model, report, problems }) => ({
      file,
      model,
      verdict: report?.verdict ?? "invalid",
      spend_usd: report?.spend_usd ?? "0",
      problems,
    })),
    org_id: account.orgId,
    balance_usd: account.balanceUsd,
    key_id: account.keyId,
    key: account.key,
    model: modelId,
    gateway_url: gatewayUrl,
    serve: serveCommand,
    curl: curlText(welcome).trim(),
    warnings,
  };
}

export function providerJson({ result, wasThere }: ListedProvider): object {
  const { conformance, file, issues, listed, notes, providerId, skipped } = result;
  return {
    provider: providerId,
    file: file ?? null,
    kept: wasThere,
    listed: listed.length,
    skipped,
    notes,
    issues,
    conformance: conformance ?? null,
  };
}

export function providerLines({ result, wasThere }: ListedProvider): readonly string[] {
  const { file, issues, listed, notes, providerId, skipped } = result;
  if (wasThere) return [`${file}: is there, and stays as it is (--force replaces it)`];
  if (file === undefined) return issues.map((issue) => `${providerId}: not listed: ${issue}`);
  const staged = notes.filter(({ code }) => code === "staged").length;
  const more = [
    ...(staged > 0 ? [`${staged} of them staged`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} left out: not served to this key`] : []),
  ];
  return [`${file}: ${[`${listed.length} models`, ...more].join(", ")}`];
}

function triedLine({ modelId, report, problems }: TriedModel): string {
  if (report === undefined) return `${modelId}: not tried: ${problems.join("; ")}`;
  const failed = report.models.flatMap(({ checks }) =>
    checks.filter(({ status }) => status === "fail").map(({ id, message }) => `${id} ${message}`),
  );
  const why = failed.length === 0 ? "" : `: ${failed.join("; ")}`;
  return `${modelId}: ${report.verdict} ($${report.spend_usd} spent)${why}`;
}
