import { Group, Paper, Title, Stack, Text } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import { useRef, type ReactNode } from "react";

import { useAnswer, useSession } from "../api/use-answer.ts";
import { ReceivedInvitations } from "../app/received-invitations.tsx";
import { LinkButton, AppLink } from "../ui/app-link.tsx";
import kit from "../ui/kit.module.css";
import { parseUsd } from "../ui/money-math.ts";
import { Page } from "../ui/page.tsx";
import { CallStep, useFirstRequest } from "./welcome/call-step.tsx";
import { KeyStep, useFirstKey } from "./welcome/key-step.tsx";
import { Answer } from "../ui/answer.tsx";
import { Money } from "../ui/money.tsx";
import { AddCredit } from "./billing/add-credit-panel.tsx";
import { LeaveGuard } from "../ui/secret-once.tsx";

/** `/welcome`: three steps after the first sign-in: credit, the trial key, a first call. */
export function WelcomePage() {
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
        <LinkButton to="/">Go to overview</LinkButton>
      </div>
      <LeaveGuard
        isUnsaved={firstKey.state === "shown"}
        isAway={() => isAtCheckout.current}
        title="Have you saved your key?"
      >
        Your key is readable on this page while this tab is open. After that it cannot be shown
        again.
      </LeaveGuard>
    </Page>
  );
}

function Step(props: {
  readonly id?: string;
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}) {
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

function CreditStep(props: { readonly hasCredit: boolean; readonly onLeave: () => void }) {
  const { hasCredit, onLeave } = props;
  const { balance } = useSession();
  const billing = useAnswer("GET /api/console/billing", undefined, { enabled: !hasCredit });
  if (hasCredit) {
    return (
      <Text size="sm">
        Your balance is <Money usd={balance?.available_usd ?? "0"} headline />. All keys of your
        organization share it. <AppLink to="/billing">Open billing</AppLink>
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      <Text size="sm">
        Requests are paid from your balance, which is{" "}
        <Money usd={balance?.available_usd ?? "0"} headline />. Until you add credit, they are
        rejected. After you pay, you return to this page, and your key is still here.
      </Text>
      <Answer of={billing}>
        {({ payments }) => <AddCredit payments={payments} backTo="welcome" onLeave={onLeave} />}
      </Answer>
    </Stack>
  );
}
