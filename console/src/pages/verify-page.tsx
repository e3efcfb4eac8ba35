import { Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect } from "react";

import { useSession } from "../api/use-answer.ts";
import { BareFrame } from "../app/brand.tsx";
import { Redirect, ToSignIn } from "../app/session-gate.tsx";
import shell from "../app/shell.module.css";
import { signOut } from "../app/sign-in.ts";
import { Support } from "../app/repair-link.tsx";
import { notifyFault } from "../ui/notice.ts";
import { Note } from "../ui/page.tsx";

/** `/verify`: the only page that people see while their email address is not verified. */
export function VerifyPage() {
  const { state, user, installation } = useSession();
  useEffect(() => {
    document.title = "Verify your email · Token Market";
  }, []);
  if (state === "signed_in") return <Redirect to="/" />;
  if (state === "signed_out") return <ToSignIn reason={undefined} />;
  const issuer = installation.sign_in_name ?? "Your identity provider";
  return (
    <BareFrame>
      <Paper withBorder className={shell.card}>
        <Stack gap="md">
          <Title order={1} size="h2">
            Verify your email
          </Title>
          <Text>
            You are signed in as <strong>{user?.email}</strong>, but {issuer} has not verified this
            address yet. Until then, keys and credit are not available, and every request returns
            403 <code>email_not_verified</code>.
          </Text>
          <Text>
            {issuer} sends the email, not Token Market. Open the link in it, or ask {issuer} to send
            it again. Then choose “Check again” to sign in again.
          </Text>
          <Group gap="xs">
            <Button component="a" href="/auth/start">
              Check again
            </Button>
            <Button variant="default" onClick={() => void signOut().catch(notifyFault)}>
              Sign out
            </Button>
          </Group>
          {installation.support === null ? null : (
            <Note>
              <Support />
            </Note>
          )}
        </Stack>
      </Paper>
    </BareFrame>
  );
}
