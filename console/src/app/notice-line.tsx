import { Button, CloseButton } from "@mantine/core";
import { lazy, Suspense, useState, type ReactElement } from "react";

import type { Notice } from "../../../src/account/console-api/contract.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { formatCount } from "../ui/count.tsx";
import { Time } from "../ui/time.tsx";
import { toLineKey, type Line } from "./notice-order.ts";
import { RepairLink } from "./repair-link.tsx";

const PriceLine = lazy(() => import("./price-line.tsx"));

interface Context {
  readonly isLocal: boolean;
  readonly isTest: boolean;
  readonly onDismiss: (line: Line) => void;
}

/**
 * Shows the most severe notice, with the others behind a button. A screen reader announces each new
 * notice once, but not later changes of its figures.
 */
export function NoticeLine({
  lines,
  ...context
}: Context & { readonly lines: readonly Line[] }): ReactElement | null {
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

function OneLine({ line, more = null, ...context }: OneProps): ReactElement {
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

function OneNotice(props: {
  readonly notice: Notice;
  readonly more: ReactElement | null;
}): ReactElement {
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
