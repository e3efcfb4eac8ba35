import { useState, lazy, Suspense, type ReactElement } from "react";
import { Button, CloseButton } from "@mantine/core";

import type { Session, Notice } from "../api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { recallTexts, remember } from "../ui/browser-memory.ts";
import { inOrder, type Line, toLineKey } from "./notice-order.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { formatCount } from "../ui/format.ts";
import { Time } from "../ui/time.tsx";
import { RepairLink } from "./repair-link.tsx";

export function Banners({ session }: { readonly session: Session }) {
  const { installation, notices } = session;
  const isSignedIn = session.state === "signed_in";
  const changes = useAnswer("GET /api/console/price-changes", {}, { enabled: isSignedIn });
  const [dismissed, setDismissed] = useState(readDismissed);
  const isTest = isSignedIn && installation.is_test_money;
  const lines: Line[] = notices.map((notice) => ({ kind: "notice", notice }));
  for (const notice of (isSignedIn ? changes.data?.data : undefined) ?? []) {
    if (!dismissed.includes(notice.notice_id)) lines.push({ kind: "price", notice });
  }
  const today = `development ${new Date().toISOString().slice(0, 10)}`;
  if ((installation.is_local_sign_in || isTest) && !dismissed.includes(today)) {
    lines.push({ kind: "development" });
  }
  return (
    <section aria-label="Notices">
      <NoticeLine
        lines={inOrder(lines)}
        isLocal={installation.is_local_sign_in}
        isTest={isTest}
        onDismiss={(line) =>
          setDismissed(dismiss(line.kind === "price" ? line.notice.notice_id : today))
        }
      />
    </section>
  );
}

const NAME = "tm-dismissed";
/** Maximum number of dismissed IDs that this browser stores. The oldest are dropped first. */
const IDS_MAX = 100;

function readDismissed(): readonly string[] {
  return recallTexts("localStorage", NAME);
}

function dismiss(id: string): readonly string[] {
  const ids = [...readDismissed().filter((each) => each !== id), id].slice(-IDS_MAX);
  remember("localStorage", NAME, ids);
  return ids;
}

const PriceLine = lazy(() => import("./price-line.tsx"));

interface Context {
  readonly isLocal: boolean;
  readonly isTest: boolean;
  readonly onDismiss: (line: Line) => void;
}

/**
 * Shows the most severe notice, with the others behind a button. A screen reader announces a notice
 * that becomes the most severe one, but not later changes of its figures.
 */
function NoticeLine({ lines, ...context }: Context & { readonly lines: readonly Line[] }) {
  const [isOpen, setOpen] = useState(false);
  const [first, ...others] = lines;
  const more =
    others.length === 0 ? null : (
      <Button
        size="compact-sm"
        variant="subtle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "Show fewer notices" : `and ${others.length} more`}
      </Button>
    );
  return (
    <>
      <div aria-live="polite">
        {first === undefined ? null : <OneLine line={first} more={more} {...context} />}
      </div>
      {isOpen
        ? others.map((each) => <OneLine key={toLineKey(each)} line={each} {...context} />)
        : null}
    </>
  );
}

type OneProps = Context & { readonly line: Line; readonly more?: ReactElement | null };

function OneLine({ line, more = null, ...context }: OneProps) {
  const { isLocal, isTest, onDismiss } = context;
  if (line.kind === "notice") return <OneNotice notice={line.notice} more={more} />;
  if (line.kind === "price") {
    return (
      <Suspense>
        <PriceLine notice={line.notice} more={more} onDismiss={() => onDismiss(line)} />
      </Suspense>
    );
  }
  return (
    <Banner
      tone="warn"
      action={
        <>
          {isLocal ? (
            <AppLink to="/docs" size="sm">
              Set up sign-in
            </AppLink>
          ) : null}
          <CloseButton
            size="sm"
            aria-label="Hide this notice until tomorrow"
            onClick={() => onDismiss(line)}
          />
        </>
      }
    >
      {isLocal ? "Local sign-in is for development on one machine only. " : null}
      {isTest ? "Test mode: credit bought here is not real money." : null}
    </Banner>
  );
}

function OneNotice(props: { readonly notice: Notice; readonly more: ReactElement | null }) {
  const { severity, text, since, refused, action, target } = props.notice;
  return (
    <Banner
      tone={severity}
      action={
        <>
          <RepairLink action={action} target={target} />
          {props.more}
        </>
      }
    >
      <span>{text}</span>
      {since === null && refused === 0 ? null : (
        <span aria-live="off">
          {since === null ? null : (
            <>
              {" "}
              Since <Time at={since} />.
            </>
          )}
          {refused === 0 ? null : ` ${formatCount(refused)} rejected in the last hour.`}
        </span>
      )}
    </Banner>
  );
}
