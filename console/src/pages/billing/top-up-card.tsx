import { Button, Group, Stack, Text } from "@mantine/core";
import { CreditCard } from "lucide-react";
import type { ReactNode } from "react";

import type { TopUp } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { notices } from "../../ui/notice.ts";
import { UnplacedFault } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { leaveFor, untilBack } from "./leave-for.ts";

export function TopUpCard({ topUp }: { readonly topUp: TopUp }): ReactNode {
  const submission = useSubmission();
  const mayChange = useMay("billing");
  const remove = useChange("POST /api/console/top-up/card/remove", {
    refreshes: ["GET /api/console/top-up"],
  });
  const { card } = topUp;

  const save = (): void => {
    submission.run(async () => {
      const { checkout_url: url } = await call("POST /api/console/top-up/card", {});
      leaveFor(url);
      await untilBack();
    });
  };

  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="md">
        <CreditCard size={18} aria-hidden />
        <Text>{cardText(topUp)}</Text>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!mayChange}
          loading={submission.isBusy}
          onClick={save}
        >
          {card === null ? "Save a card" : "Update card"}
        </Button>
        {card === null ? null : (
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            disabled={!mayChange}
            loading={remove.isPending}
            onClick={() =>
              remove.mutate(undefined, notices("The card was removed; automatic top-up is off"))
            }
          >
            Remove card
          </Button>
        )}
      </Group>
      <Text size="sm" c="dimmed">
        Nothing is charged when you save a card. Your card details never reach Token Market.
      </Text>
      <UnplacedFault fault={submission.fault} fields={[]} />
    </Stack>
  );
}

function cardText({ card, is_card_pending: isPending }: TopUp): string {
  if (card === null) return isPending ? "Waiting for the card…" : "No card saved";
  const { brand, last4, exp_month: month, exp_year: year } = card;
  const name = `${brand.slice(0, 1).toUpperCase()}${brand.slice(1)}`;
  return `${name} ending in ${last4}, expires ${String(month).padStart(2, "0")}/${year}`;
}
