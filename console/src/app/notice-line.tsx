import { Button } from "@mantine/core";
import { useState, type ReactElement } from "react";

import type { Notice } from "../../../src/console-api/contract.ts";
import { Banner } from "../ui/banner.tsx";
import { formatCount } from "../ui/count.tsx";
import { Time } from "../ui/time.tsx";
import { RepairLink } from "./repair-link.tsx";

/**
 * One line for what the organization has to know now: the most severe notice, and the others behind
 * a button. A screen reader says a new notice once, and not each change of its figures.
 */
export function NoticeLine({
  notices,
}: {
  readonly notices: readonly Notice[];
}): ReactElement | null {
  const [isOpen, setOpen] = useState(false);
  const [first, ...others] = notices;
  return (
    <>
      <div aria-live="polite">{first === undefined ? null : <OneNotice notice={first} />}</div>
      {others.length === 0 ? null : (
        <div>
          <Button
            size="compact-xs"
            variant="subtle"
            mx="md"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "Show fewer notices" : `and ${others.length} more`}
          </Button>
          {isOpen ? others.map((each) => <OneNotice key={keyOf(each)} notice={each} />) : null}
        </div>
      )}
    </>
  );
}

function OneNotice({ notice }: { readonly notice: Notice }): ReactElement {
  const { severity, text, since, refused, action, target } = notice;
  return (
    <Banner tone={severity} action={<RepairLink action={action} target={target} />}>
      <span>{text}</span>
      {since === null && refused === 0 ? null : (
        <span aria-live="off">
          {since === null ? null : (
            <>
              {" "}
              Since <Time at={since} />.
            </>
          )}
          {refused === 0 ? null : ` ${formatCount(refused)} refused in the last hour.`}
        </span>
      )}
    </Banner>
  );
}

function keyOf({ kind, text }: Notice): string {
  return `${kind} ${text}`;
}
