import { lazy, Suspense, type ReactElement } from "react";

import type { Session } from "../../../src/console-api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { Time } from "../ui/time.tsx";
import { Support } from "./support.tsx";

/** Seldom needed, so it is loaded when it is. */
const PriceNotices = lazy(() => import("./price-notices.tsx"));

/** What holds for the whole account now, above every page. */
export function Banners({ session }: { readonly session: Session }): ReactElement {
  const { installation, holds } = session;
  const isSignedIn = session.state === "signed_in";
  const changes = useAnswer("GET /api/console/price-changes", {}, { enabled: isSignedIn });
  const notices = changes.data?.data ?? [];
  return (
    <section aria-label="Notices">
      {isSignedIn && !session.is_funded ? (
        <Banner
          tone="info"
          action={
            <AppLink to="/billing" size="sm">
              Add credit
            </AppLink>
          }
        >
          {session.unfunded_rpm} requests per minute until you add credit.
        </Banner>
      ) : null}
      {holds.map((hold) => (
        <HoldBanner
          key={`${hold.family} ${hold.state}`}
          hold={hold}
          support={installation.support}
        />
      ))}
      {installation.is_local_sign_in ? (
        <Banner
          tone="warn"
          action={
            <AppLink to="/docs" size="sm">
              Set up sign-in
            </AppLink>
          }
        >
          Local sign-in is for development on one machine only.
        </Banner>
      ) : null}
      {isSignedIn && installation.is_test_money ? (
        <Banner tone="warn">Test mode: credit bought here is not real money.</Banner>
      ) : null}
      {isSignedIn && notices.length > 0 ? (
        <Suspense>
          <PriceNotices notices={notices} />
        </Suspense>
      ) : null}
    </section>
  );
}

function HoldBanner(props: {
  readonly hold: Session["holds"][number];
  readonly support: string | null;
}): ReactElement {
  const { family, state, until } = props.hold;
  const isRestricted = state === "restricted";
  return (
    <Banner tone={isRestricted ? "bad" : "warn"}>
      Unusual use detected: {FAMILY_LABELS[family]} {isRestricted ? "are refused" : "are limited"}{" "}
      {until === null ? (
        "until support has reviewed them"
      ) : (
        <>
          until <Time at={until} />
        </>
      )}
      . <Support support={props.support} />
    </Banner>
  );
}

const FAMILY_LABELS = {
  chat: "chat requests",
  images: "image requests",
  videos: "video requests",
  decisions: "decision requests",
} as const;
