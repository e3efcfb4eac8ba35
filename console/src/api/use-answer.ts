import {
  useMutation,
  useQuery,
  useQueryClient,
  type QueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";

import type { AnswerOf, RouteName, Session } from "./contract.ts";
import { ApiFault, call, type Asked, type NeedsNothing } from "./client.ts";

/** The session is read again after every change, because every page shows some of it. */
const SESSION: RouteName = "GET /api/console/session";

export interface AnswerOptions<T> {
  readonly enabled?: boolean;
  /** Milliseconds between two calls of the route while the page is visible; undefined: no timer. */
  readonly refetchMs?: number | ((last: T | undefined) => number | undefined);
  /** If true, age alone does not cause another fetch, because the server records each access. */
  readonly isRecorded?: boolean;
  /**
   * A name for the data that the page shows, such as its filters. While a new query with the same
   * name loads, the previous answer stays visible.
   */
  readonly subject?: string;
}

/** Reads the answer of a route. React Query caches it under the key `[name, asked]`. */
export function useAnswer<N extends RouteName>(
  name: N,
  asked?: Omit<Asked<N>, "signal">,
  options: AnswerOptions<AnswerOf<N>> = {},
): UseQueryResult<AnswerOf<N>, ApiFault> {
  const { refetchMs, subject } = options;
  return useQuery<AnswerOf<N>, ApiFault>({
    queryKey: asked === undefined ? [name] : [name, asked],
    queryFn: ({ signal }) => callLoosely(name, { ...asked, signal }),
    enabled: options.enabled ?? true,
    ...(options.isRecorded === true ? { staleTime: Number.POSITIVE_INFINITY } : {}),
    refetchInterval: ({ state }) =>
      (typeof refetchMs === "function" ? refetchMs(state.data) : refetchMs) ?? false,
    meta: { subject },
    placeholderData: (before, query) =>
      subject !== undefined && query?.meta?.["subject"] === subject ? before : undefined,
  });
}

/** The session. Throws if it was not read, which `SessionGate` does before any page is shown. */
export function useSession(): Session {
  const session = useAnswer("GET /api/console/session").data;
  if (session === undefined) throw new Error("a page was shown before the session was read");
  return session;
}

export type Need = Session["may"][number];

/**
 * True if the role of the signed-in person permits `need`. This only decides what a page offers:
 * the server checks each change again.
 */
export function useMay(need: Need): boolean {
  return useSession().may.includes(need);
}

/** Calls a route that changes something, then reads the answers of the routes `refreshes` again. */
export function useChange<N extends RouteName>(
  name: N,
  refreshes: readonly RouteName[] = [],
): Change<N> {
  const client = useQueryClient();
  const change = useMutation<AnswerOf<N>, ApiFault, ChangeAsked<N>>({
    mutationFn: (asked) => callLoosely(name, (asked ?? {}) as object),
    onSuccess: () => refreshAnswers(client, refreshes),
    onError: (fault) => {
      if (isAnswerLost(fault)) void refreshAnswers(client, refreshes);
    },
  });
  return {
    ...change,
    // The answers that are read again often remove the component, as with the row of a table.
    // React Query's own `mutate` would then drop the callbacks.
    mutate: (asked, { onSuccess, onError = () => undefined } = {}) =>
      void change.mutateAsync(asked).then(onSuccess, onError),
  };
}

type Change<N extends RouteName> = Omit<
  UseMutationResult<AnswerOf<N>, ApiFault, ChangeAsked<N>>,
  "mutate"
> & {
  readonly mutate: (
    asked: ChangeAsked<N>,
    callbacks?: {
      readonly onSuccess?: (answer: AnswerOf<N>) => void;
      readonly onError?: (fault: ApiFault) => void;
    },
  ) => void;
};

/** True if the server may have made the change although this page got no confirmation. */
export function isAnswerLost({ status }: ApiFault): boolean {
  return status === 0 || status >= 500;
}

/** The argument of the call. It may be omitted if the route requires no input. */
type ChangeAsked<N extends RouteName> =
  NeedsNothing<N> extends true ? Asked<N> | undefined | void : Asked<N>;

/** Makes the session and the answers of the routes `names` stale. Answers in use are read again. */
export async function refreshAnswers(
  client: QueryClient,
  names: readonly RouteName[],
): Promise<void> {
  await Promise.all(
    [...new Set([SESSION, ...names])].map((name) => client.invalidateQueries({ queryKey: [name] })),
  );
}

/**
 * Reads the session again if a request failed because it changed or ended. If it has ended,
 * `PrivateGate` leads to the sign-in page.
 */
export function rereadSession(client: QueryClient, fault: unknown): void {
  if (fault instanceof ApiFault && SESSION_CODES.has(fault.code)) void refreshAnswers(client, []);
}

const SESSION_CODES: ReadonlySet<string> = new Set([
  "signed_out",
  "email_not_verified",
  // The server answers this, for example, if the account's role has changed.
  "forbidden",
  // The server answers this if another tab has switched to another organization, or if the account
  // was removed from this one.
  "other_organization",
]);

/** `call` with looser types: TypeScript cannot resolve its conditional types for a generic `N`. */
const callLoosely = call as unknown as <N extends RouteName>(
  name: N,
  asked: object,
) => Promise<AnswerOf<N>>;
