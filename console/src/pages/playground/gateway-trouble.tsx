import { Alert, Group, Stack, Text } from "@mantine/core";
import { CircleAlert } from "lucide-react";

import { signInAddress } from "../../app/sign-in.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { sentence } from "../../ui/sentence.ts";
import { GatewayFault } from "./gateway.ts";

export function GatewayTrouble(props: {
  readonly title: string;
  /** Error class of the gateway; undefined if the error does not come from the gateway. */
  readonly errorType: string | undefined;
  readonly message: string;
  readonly requestId: string | undefined;
}) {
  const { title, errorType, message, requestId } = props;
  return (
    <Alert color="red" icon={<CircleAlert aria-hidden />} title={title}>
      <Stack gap={6} align="flex-start">
        <Text size="sm">{sentence(message)}</Text>
        <Group gap="xs">
          {errorType === undefined ? null : (
            <Text size="xs">
              Error type <code>{errorType}</code>
            </Text>
          )}
          {requestId === undefined ? null : (
            <Group gap={4}>
              <Text size="xs">Request ID</Text>
              <Copyable value={requestId} label="request ID" />
            </Group>
          )}
        </Group>
        <NextStep errorType={errorType} />
      </Stack>
    </Alert>
  );
}

export function FaultTrouble({ fault }: { readonly fault: unknown }) {
  const known = fault instanceof GatewayFault ? fault : undefined;
  return (
    <GatewayTrouble
      title="Something went wrong"
      errorType={known?.errorType}
      message={known?.message ?? "Something on this page failed. Reload it."}
      requestId={known?.requestId}
    />
  );
}

function NextStep({ errorType }: { readonly errorType: string | undefined }) {
  if (errorType === "insufficient_quota") {
    return (
      <Text size="sm">
        <AppLink to="/billing" c="inherit">
          Add credit
        </AppLink>{" "}
        or check your{" "}
        <AppLink to="/limits" c="inherit">
          limits and caps
        </AppLink>
        .
      </Text>
    );
  }
  if (errorType === "signed_out" || errorType === "auth") {
    return (
      <a href={signInAddress({ reason: "expired" })}>
        <Text size="sm" span>
          Sign in again
        </Text>
      </a>
    );
  }
  return null;
}
