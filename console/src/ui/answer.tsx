import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";

import type { ApiFault } from "../api/client.ts";
import { Fault } from "./fault.tsx";
import { Loading } from "./loading.tsx";

export interface AnswerProps<T> {
  readonly of: UseQueryResult<T, ApiFault>;
  /** Number of gray rows that are shown until the first answer arrives. */
  readonly rows?: number;
  /** Shown instead of the gray rows. It must be as large as the content, so that nothing moves. */
  readonly skeleton?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/**
 * Shows the content, a placeholder while it loads, or the error. If a later read fails, the
 * previous answer stays.
 */
export function Answer<T>({ of, rows = 5, skeleton, children }: AnswerProps<T>): ReactElement {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.isError) return <Fault error={of.error} retry={() => void of.refetch()} />;
  return <>{skeleton ?? <Loading rows={rows} />}</>;
}
