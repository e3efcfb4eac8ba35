import { Alert, Anchor, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";

import { useSession } from "../api/use-session.ts";
import { BareFrame } from "../app/bare-frame.tsx";
import { KeptFragment } from "../app/kept-fragment.ts";
import { pathOfOurs, startAddress, type SignInReason } from "../app/sign-in-address.ts";
import { Support } from "../app/support.tsx";
import { useFilters } from "../app/use-filters.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Copyable } from "../ui/copyable.tsx";
import shell from "../app/shell.module.css";

/** One link to the identity provider; there is no password here. */
export function SignInPage(): ReactElement {
  const { state, installation } = useSession();
  const [{ return: back, reason, request_id }] = useFilters<SignInSearch>();
  // Browsers carry the fragment of a private page's address to where that page redirects.
  useState(() => KeptFragment.keep(Date.now()));
  useEffect(() => {
    document.title = "Sign in · Token Market";
  }, []);
  if (state === "signed_in") return <ToReturn back={pathOfOurs(back ?? "/")} />;
  return (
    <BareFrame>
      <Paper withBorder className={shell.card}>
        <Stack gap="md">
          <Title order={1} size="h2">
            Sign in
          </Title>
          <Reason reason={reason} requestId={request_id} />
          {installation.sign_in_name === null ? (
            <Text>
              Sign-in is not set up yet. The operator sets an identity provider with{" "}
              <code>oidc.issuer</code>.
            </Text>
          ) : (
            <>
              <Button component="a" href={startAddress(back)} size="md" fullWidth>
                Continue with {installation.sign_in_name}
              </Button>
              <Text size="sm" c="dimmed">
                Token Market never sees your password.
              </Text>
            </>
          )}
          <Text size="sm" c="dimmed">
            <Policies privacy={installation.privacy_url} terms={installation.terms_url} />
            <AppLink to="/models" inherit>
              View models
            </AppLink>{" "}
            without signing in. <Support support={installation.support} />
          </Text>
        </Stack>
      </Paper>
    </BareFrame>
  );
}

type SignInSearch = Partial<Record<"return" | "reason" | "request_id", string>>;

/** Signed in already, in another tab: the way back is a whole address with its query. */
function ToReturn({ back }: { readonly back: string }): null {
  const { history } = useRouter();
  useEffect(() => history.replace(back), [history, back]);
  return null;
}

function Reason(props: {
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
}): ReactElement | null {
  const { reason, requestId = "" } = props;
  const words = reason === undefined ? undefined : REASONS.get(reason as SignInReason);
  if (words === undefined) return null;
  const isBad = reason === "failed" || reason === "denied";
  return (
    <Alert color={isBad ? "red" : "market"} variant="light" role={isBad ? "alert" : "status"}>
      {words}
      {isBad && REQUEST_ID.test(requestId) ? (
        <Group gap={6} mt="xs">
          <Text size="xs">Request ID</Text>
          <Copyable value={requestId} label="request ID" />
        </Group>
      ) : null}
    </Alert>
  );
}

/** Only reasons of this list are shown: an address cannot put its own text on this page. */
const REASONS: ReadonlyMap<SignInReason, string> = new Map([
  ["expired", "Your session expired. Sign in again to continue."],
  ["signed-out", "You are signed out. Other browsers stay signed in."],
  ["idp-ended", "Your identity provider ended your session. Sign in again to continue."],
  ["failed", "Sign-in failed. Try again. If it keeps failing, contact support."],
  ["denied", "Your identity provider denied the sign-in. Try again, or use another account."],
]);

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function Policies(props: {
  readonly privacy: string | null;
  readonly terms: string | null;
}): ReactElement | null {
  const links = [
    ["Privacy policy", props.privacy],
    ["Terms", props.terms],
  ].filter((link): link is [string, string] => link[1] !== null && link[1] !== "");
  return (
    <>
      {links.map(([label, href]) => (
        <span key={label}>
          <Anchor href={href} inherit>
            {label}
          </Anchor>
          {" · "}
        </span>
      ))}
    </>
  );
}
