import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { CircleAlert } from "lucide-react";
import { useContext } from "react";

import { ApiFault, faultText } from "../api/client.ts";
import { signInAddress } from "../app/sign-in.ts";
import { LinkButton } from "./app-link.tsx";
import { Copyable } from "./copyable.tsx";
import { PageAbove } from "./page.tsx";

export interface FaultProps {
  readonly error: unknown;
  readonly retry?: () => void;
}

export function Fault({ error, retry }: FaultProps) {
  const fault = error instanceof ApiFault ? error : undefined;
  return (
    <Alert
      color="red"
      icon={<CircleAlert aria-hidden />}
      title={fault?.status === 404 ? "Not found" : "Something went wrong"}
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{faultText(error)}</Text>
        {fault?.requestId === undefined ? null : (
          <Group gap={6}>
            <Text size="xs">Request ID</Text>
            <Copyable value={fault.requestId} label="request ID" />
          </Group>
        )}
        <NextStep fault={fault} retry={retry} />
      </Stack>
    </Alert>
  );
}

function NextStep(props: {
  readonly fault: ApiFault | undefined;
  readonly retry: (() => void) | undefined;
}) {
  const { fault, retry } = props;
  const above = useContext(PageAbove);
  if (fault?.code === "signed_out") {
    return (
      <Button component="a" size="xs" href={signInAddress({ reason: "expired" })}>
        Sign in
      </Button>
    );
  }
  if (fault?.status === 404 && above !== undefined) {
    return (
      <LinkButton to={above.to} size="xs">
        Back to {above.label}
      </LinkButton>
    );
  }
  if (retry === undefined) return null;
  return (
    <Button size="xs" variant="default" onClick={retry}>
      Try again
    </Button>
  );
}
