import { Stack, Text } from "@mantine/core";
import type { ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Money } from "../../ui/money.tsx";
import { AddCredit } from "../billing/add-credit-panel.tsx";

/**
 * The step that adds credit. Without credit, every request is refused. After the payment, the
 * reader returns to this page.
 */
export function CreditStep(props: {
  readonly hasCredit: boolean;
  readonly onLeave: () => void;
}): ReactElement {
  const { hasCredit, onLeave } = props;
  const { balance } = useSession();
  const billing = useAnswer("GET /api/console/billing", undefined, { enabled: !hasCredit });
  if (hasCredit) {
    return (
      <Text size="sm">
        Your balance is <Money usd={balance?.available_usd ?? "0"} headline />. All keys of your
        organization share it.{" "}
        <AppLink to="/billing" inherit>
          Open billing
        </AppLink>
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
