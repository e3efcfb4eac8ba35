import { useContext, type ReactNode } from "react";
import { Alert, Button, Group, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
import { CircleAlert } from "lucide-react";

import { ApiFault, faultText } from "../api/client.ts";
import { signInAddress } from "../app/sign-in.ts";
import { LinkButton } from "./app-link.tsx";
import { Copyable } from "./copyable.tsx";
import { PageAbove } from "./page.tsx";

interface AnswerProps<T> {
  /** The result of a query of React Query. */
  readonly of: {
    readonly data: T | undefined;
    readonly isError: boolean;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  readonly rows?: number;
  /** Shown instead of the gray rows. It must be as large as the content, so that nothing moves. */
  readonly skeleton?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/**
 * Shows the content, a placeholder while it loads, or the error. If a later read fails, the
 * previous answer stays.
 */
export function Answer<T>({ of, rows = 5, skeleton, children }: AnswerProps<T>) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.isError) return <Fault error={of.error} retry={() => void of.refetch()} />;
  return <>{skeleton ?? <Loading rows={rows} />}</>;
}

export function Loading({ rows = 5 }: { readonly rows?: number }) {
  return (
    <div role="status">
      <VisuallyHidden>Loading</VisuallyHidden>
      <Stack gap="xs" aria-hidden>
        {Array.from({ length: rows }, (_none, row) => (
          <Skeleton key={row} height={36} radius="sm" />
        ))}
      </Stack>
    </div>
  );
}

export function Fault({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
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
