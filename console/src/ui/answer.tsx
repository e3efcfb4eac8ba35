import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";

import type { ApiFault } from "../api/client.ts";
import { Fault } from "./fault.tsx";
import { Loading } from "./loading.tsx";

export interface AnswerProps<T> {
  readonly of: UseQueryResult<T, ApiFault>;
  /** Shown until the first answer; as large as the content, so that nothing moves. */
  readonly skeleton?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** Shows the content, a skeleton or the error. If a refetch fails, the previous answer stays. */
export function Answer<T>({ of, skeleton, children }: AnswerProps<T>): ReactElement {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.isError) return <Fault error={of.error} retry={() => void of.refetch()} />;
  return <>{skeleton ?? <Loading />}</>;
}
