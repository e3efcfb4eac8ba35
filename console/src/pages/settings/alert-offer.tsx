import { Alert, Button, Stack, Text } from "@mantine/core";
import { BellRing } from "lucide-react";

import { useAnswer, useChange, useMay, useSession } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { compareUsd, parseUsd, showCents, writeUsd } from "../../ui/money-math.ts";
import { notifyDone, notifyFault } from "../../ui/notice.ts";

/** Offers to turn on the usual alerts if mail can be sent and no destination is set. */
export default function AlertOffer({ purchasedUsd }: { readonly purchasedUsd: string }) {
  const { user } = useSession();
  const mayChange = useMay("billing");
  const { data } = useAnswer("GET /api/console/alerts", undefined, { enabled: mayChange });
  const refreshes = ["GET /api/console/alerts"] as const;
  const rules = useChange("PATCH /api/console/alerts", refreshes);
  const destination = useChange("POST /api/console/alerts/destinations", refreshes);
  const isSilent = data?.can_email === true && data.destinations.length === 0;
  if (!mayChange || !isSilent || user === null) return null;
  const below = usualThreshold(purchasedUsd);
  async function turnOn(): Promise<void> {
    try {
      const body = {
        balance_below_usd: below,
        cap_percents: [80, 100],
        purchases: true,
        restrictions: true,
        key_expiry: true,
      };
      await rules.mutateAsync({ body });
      await destination.mutateAsync({ body: { channel: "email" } });
      notifyDone(`Alerts go to ${user?.email ?? "you"}`);
    } catch (fault) {
      notifyFault(fault);
    }
  }
  return (
    <Alert color="gray" icon={<BellRing aria-hidden />} title="No alerts yet">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          Nobody is told when the balance runs out and requests are rejected. Send an email to{" "}
          {user.email} when the balance falls below {showCents(below)}, when 80 or 100% of a cap is
          used, and when credit is added, requests are restricted, or a key expires?
        </Text>
        <Button
          size="xs"
          loading={rules.isPending || destination.isPending}
          onClick={() => void turnOn()}
        >
          Turn on alerts
        </Button>
        <AppLink to="/settings/alerts" size="sm">
          Choose alerts yourself
        </AppLink>
      </Stack>
    </Alert>
  );
}

const LEAST_USD = "5.000000";

/** Proposes a threshold: a fifth of the last purchase, but at least five dollars. */
function usualThreshold(purchasedUsd: string): string {
  const fifth = writeUsd(parseUsd(purchasedUsd) / 5n);
  return compareUsd(fifth, LEAST_USD) < 0 ? LEAST_USD : fifth;
}
