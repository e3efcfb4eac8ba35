import { lazy, Suspense, type ReactElement } from "react";

import type { Session } from "../../../src/console-api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { DevelopmentLine } from "./development-line.tsx";
import { NoticeLine } from "./notice-line.tsx";

/** Seldom needed, so it is loaded when it is. */
const PriceNotices = lazy(() => import("./price-notices.tsx"));

/** What holds for the whole account now, above every page. */
export function Banners({ session }: { readonly session: Session }): ReactElement {
  const { installation } = session;
  const isSignedIn = session.state === "signed_in";
  const changes = useAnswer("GET /api/console/price-changes", {}, { enabled: isSignedIn });
  const notices = changes.data?.data ?? [];
  return (
    <section aria-label="Notices">
      <NoticeLine notices={session.notices} />
      <DevelopmentLine installation={installation} isSignedIn={isSignedIn} />
      {isSignedIn && notices.length > 0 ? (
        <Suspense>
          <PriceNotices notices={notices} />
        </Suspense>
      ) : null}
    </section>
  );
}
