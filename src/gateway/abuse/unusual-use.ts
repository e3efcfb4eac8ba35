import { formatUsd, type MicroUsd } from "../../kernel/index.ts";

/** What counts as unusual within the window; undefined: not checked. */
export interface UnusualUsePolicy {
  /** Length of the rolling window, in milliseconds. */
  readonly windowMs: number;
  /** So many requests refused before any dispatch. */
  readonly refusedRequests: number | undefined;
  /** So many different client networks. */
  readonly clientAddresses: number | undefined;
  /** Such a share of failed requests among those that were dispatched, 1 to 100. */
  readonly errorPercent: number | undefined;
  /** Dispatched requests below which their share of failed ones says nothing. */
  readonly requestsMin: number;
  readonly spendMicroUsd: MicroUsd | undefined;
}

/** What one organization did within the window with one kind of request. */
export interface UseInWindow {
  readonly servedRequests: number;
  readonly failedRequests: number;
  readonly refusedRequests: number;
  readonly clientAddresses: number;
  readonly debitMicroUsd: MicroUsd;
}

/** A line of the policy that was reached, by the name of its setting, and what was seen. */
export interface ReachedLine {
  readonly line: "refused_requests" | "client_addresses" | "error_percent" | "spend_usd";
  readonly seen: string;
}

/** Every line that this use reaches; undefined when it is usual. */
export function findUnusualUse(
  policy: UnusualUsePolicy,
  use: UseInWindow,
): readonly ReachedLine[] | undefined {
  const lines: ReachedLine[] = [];
  if (reaches(use.refusedRequests, policy.refusedRequests)) {
    lines.push({ line: "refused_requests", seen: `${use.refusedRequests}` });
  }
  if (reaches(use.clientAddresses, policy.clientAddresses)) {
    lines.push({ line: "client_addresses", seen: `${use.clientAddresses}` });
  }
  const dispatched = use.servedRequests + use.failedRequests;
  if (failsTooOften(policy, use.failedRequests, dispatched)) {
    lines.push({ line: "error_percent", seen: `${use.failedRequests} of ${dispatched}` });
  }
  if (reaches(use.debitMicroUsd, policy.spendMicroUsd)) {
    lines.push({ line: "spend_usd", seen: formatUsd(use.debitMicroUsd) });
  }
  return lines.length === 0 ? undefined : lines;
}

function reaches<T extends number | bigint>(seen: T, line: T | undefined): boolean {
  return line !== undefined && seen >= line;
}

/* Of the dispatched ones alone: refused requests must not hide that everything else fails. */
function failsTooOften(policy: UnusualUsePolicy, failed: number, dispatched: number): boolean {
  const { errorPercent, requestsMin } = policy;
  if (errorPercent === undefined || dispatched < requestsMin) return false;
  return failed * 100 >= errorPercent * dispatched;
}
