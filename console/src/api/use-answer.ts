import {
  useMutation,
  useQuery,
  useQueryClient,
  type QueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";

import type { AnswerOf, RouteName } from "../../../src/account/console-api/contract.ts";
import { call, type ApiFault, type Asked, type NeedsNothing } from "./client.ts";

/** The route that every page uses, so it is read again after every change. */
const SESSION: RouteName = "GET /api/console/session";

export interface AnswerOptions {
  /** False: do not ask yet. */
  readonly enabled?: boolean;
  /** Ask again after this many milliseconds, for as long as the page is seen. */
  readonly refetchMs?: number;
  /** True: it is not asked again by itself, since the answer is recorded. */
  readonly isRecorded?: boolean;
  /** While another value of this query parameter loads, the previous answer stays visible. */
  readonly staysDespite?: string;
}

/** The answer of a route, cached under `[name, asked]`, so that two pages ask once. */
export function useAnswer<N extends RouteName>(
  name: N,
  asked?: Omit<Asked<N>, "signal">,
  options: AnswerOptions = {},
): UseQueryResult<AnswerOf<N>, ApiFault> {
  return useQuery<AnswerOf<N>, ApiFault>({
    queryKey: answerKey(name, asked),
    queryFn: ({ signal }) => callLoosely(name, { ...asked, signal }),
    enabled: options.enabled ?? true,
    ...(options.isRecorded === true ? { staleTime: Number.POSITIVE_INFINITY } : {}),
    refetchInterval: options.refetchMs ?? false,
    placeholderData: (before, query) =>
      isSameBut(options.staysDespite, query?.queryKey[1], asked) ? before : undefined,
  });
}

function isSameBut(name: string | undefined, before: unknown, now: unknown): boolean {
  return name !== undefined && before !== undefined && without(name, before) === without(name, now);
}

function without(name: string, asked: unknown): string {
  return JSON.stringify(asked, (key, value: unknown) => (key === name ? undefined : value));
}

/** Calls a route that changes something, then reads what it changed again. */
export function useChange<N extends RouteName>(
  name: N,
  options: { readonly refreshes: readonly RouteName[] } = { refreshes: [] },
): UseMutationResult<AnswerOf<N>, ApiFault, ChangeAsked<N>> {
  const client = useQueryClient();
  return useMutation<AnswerOf<N>, ApiFault, ChangeAsked<N>>({
    mutationFn: (asked) => callLoosely(name, (asked ?? {}) as object),
    onSuccess: () => refreshAnswers(client, options.refreshes),
  });
}

/** A route without values needs no argument. */
type ChangeAsked<N extends RouteName> =
  NeedsNothing<N> extends true ? Asked<N> | undefined | void : Asked<N>;

/** Reads every answer of these routes again, and the session. */
export async function refreshAnswers(
  client: QueryClient,
  names: readonly RouteName[],
): Promise<void> {
  await Promise.all(
    [...new Set([SESSION, ...names])].map((name) => client.invalidateQueries({ queryKey: [name] })),
  );
}

/** The cache key of an answer. */
export function answerKey(name: RouteName, asked?: object): readonly unknown[] {
  return asked === undefined ? [name] : [name, asked];
}

/** The conditional parameters of `call` cannot be followed for a name that is still generic. */
const callLoosely = call as unknown as <N extends RouteName>(
  name: N,
  asked: object,
) => Promise<AnswerOf<N>>;
