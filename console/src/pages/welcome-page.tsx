import { Group, Paper, Title } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import { useRef, type ReactElement, type ReactNode } from "react";

import { useSession } from "../api/use-session.ts";
import { ReceivedInvitations } from "../app/received-invitations.tsx";
import { LinkButton } from "../ui/app-link.tsx";
import kit from "../ui/kit.module.css";
import { parseUsd } from "../ui/money-math.ts";
import { Page } from "../ui/page.tsx";
import { CallStep } from "./welcome/call-step.tsx";
import { CreditStep } from "./welcome/credit-step.tsx";
import { KeyStep } from "./welcome/key-step.tsx";
import { LeaveGuard } from "./welcome/leave-guard.tsx";
import { useFirstKey } from "./welcome/use-first-key.ts";
import { useFirstRequest } from "./welcome/use-first-request.ts";

/** `/welcome`: three steps after the first sign-in: credit, the trial key, a first call. */
export function WelcomePage(): ReactElement {
  const session = useSession();
  const firstKey = useFirstKey();
  const hasKey = firstKey.state === "shown" || firstKey.state === "saved";
  const first = useFirstRequest();
  const isAtCheckout = useRef(false);
  const hasCredit = parseUsd(session.balance?.available_usd ?? "0") > 0n;
  return (
    <Page title="Welcome" lead="Three steps to your first request.">
      <ReceivedInvitations />
      <Step id="credit" number={1} title="Credit" isDone={hasCredit}>
        <CreditStep
          hasCredit={hasCredit}
          onLeave={() => {
            isAtCheckout.current = true;
          }}
        />
      </Step>
      <Step number={2} title="Your key" isDone={firstKey.state === "saved"}>
        <KeyStep firstKey={firstKey} />
      </Step>
      <Step number={3} title="Make your first request" isDone={first.succeeded !== undefined}>
        <CallStep
          secret={hasKey ? firstKey.secret : undefined}
          first={first}
          hasCredit={hasCredit}
        />
      </Step>
      <div>
        <LinkButton to="/" variant="default">
          Go to overview
        </LinkButton>
      </div>
      <LeaveGuard isUnsaved={firstKey.state === "shown"} isAtCheckout={isAtCheckout} />
    </Page>
  );
}

function Step(props: {
  readonly id?: string;
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Paper component="section" id={props.id} tabIndex={-1} withBorder className={kit.panel}>
      <Group gap="sm" mb="sm" wrap="nowrap">
        {props.isDone ? (
          <CircleCheck size={26} color="var(--tm-ok)" aria-hidden />
        ) : (
          <span className={kit.stepNumber} aria-hidden>
            {props.number}
          </span>
        )}
        <Title order={2} size="h4">
          <span className={kit.hidden}>Step {props.number}: </span>
          {props.title}
          {props.isDone ? <span className={kit.hidden}> (done)</span> : null}
        </Title>
      </Group>
      {props.children}
    </Paper>
  );
}
