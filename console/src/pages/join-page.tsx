import { Button, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";

import type { ReceivedInvitation } from "../api/contract.ts";
import { ROLE_WORDS } from "../../../src/kernel/core/roles.ts";
import { ApiFault, call } from "../api/client.ts";
import { useAnswer, useChange, useSession } from "../api/use-answer.ts";
import { BareFrame } from "../app/brand.tsx";
import { MovedLine, MovedNote } from "../app/moved-note.tsx";
import shell from "../app/shell.module.css";
import { signOut } from "../app/sign-in.ts";
import { Answer, Fault, Loading } from "../ui/answer.tsx";
import { LinkButton } from "../ui/app-link.tsx";
import { notifyFault } from "../ui/notice.ts";
import { Time } from "../ui/time.tsx";
import { recall, remember } from "../ui/browser-memory.ts";
import { Note } from "../ui/page.tsx";

export function JoinPage() {
  const { state, installation } = useSession();
  // The token is read in the first render, before anything else changes the page's URL.
  const [token] = useState(takeInvitation);
  useEffect(() => {
    document.title = "Join an organization · Token Market";
  }, []);
  return (
    <BareFrame>
      <MovedLine />
      <Paper withBorder className={shell.card}>
        <Stack gap="md">
          <Title order={1} size="h2">
            Join an organization
          </Title>
          {state === "signed_in" ? (
            <SignedIn token={token} />
          ) : (
            <>
              <Text>
                You were invited to an organization on Token Market. Sign in with the email address
                that the invitation was sent to, then accept it.
              </Text>
              <Button component="a" href="/auth/start?return=%2Fjoin" size="md" fullWidth>
                Continue with {installation.sign_in_name ?? "sign-in"}
              </Button>
            </>
          )}
        </Stack>
      </Paper>
    </BareFrame>
  );
}

function SignedIn({ token }: { readonly token: string | undefined }) {
  return token === undefined ? <Received /> : <Found token={token} />;
}

/**
 * Shows the invitation that the link names. It may be for another email address than that of the
 * signed-in person.
 */
function Found({ token }: { readonly token: string }) {
  const { user } = useSession();
  const found = useFoundInvitation(token);
  if (found.fault !== undefined) {
    return (
      <>
        <Fault error={found.fault} />
        <Received />
      </>
    );
  }
  const { invitation } = found;
  if (invitation === undefined) return <Loading rows={3} />;
  if (invitation.is_yours) {
    return (
      <>
        <Offer invitation={invitation} />
        <Instead />
      </>
    );
  }
  return (
    <>
      <Text>
        This invitation to <strong>{invitation.org_name}</strong> is for {invitation.email}. You are
        signed in as {user?.email}. Sign out, then sign in as {invitation.email} and open the link
        again.
      </Text>
      <Button onClick={() => void signOut().catch(notifyFault)}>Sign out</Button>
      <Received />
    </>
  );
}

/**
 * Lists the invitations for the email address of the signed-in person. It is shown if the link
 * names no invitation, one that cannot be read, or one for another address.
 */
function Received() {
  const answer = useAnswer("GET /api/console/received-invitations");
  return (
    <>
      <Answer of={answer} rows={3}>
        {({ invitations }) =>
          invitations.length === 0 ? (
            <Text>There is no open invitation for your email address.</Text>
          ) : (
            invitations.map((each) => <Offer key={each.invitation_id} invitation={each} />)
          )
        }
      </Answer>
      <Instead />
    </>
  );
}

function Offer({ invitation }: { readonly invitation: ReceivedInvitation }) {
  const { invitation_id, org_name, role, invited_by, expires_at } = invitation;
  const accept = useChange("POST /api/console/received-invitations/:invitation_id/accept");
  async function join(): Promise<void> {
    await MovedNote.during(() => accept.mutateAsync({ params: { invitation_id } }));
    forgetInvitation();
    // A full load clears everything of the former organization from memory.
    globalThis.location.assign("/");
  }
  return (
    <Stack gap="sm">
      <Text>
        {invited_by ?? "An owner"} invites you to <strong>{org_name}</strong> as{" "}
        <strong>{ROLE_WORDS[role].name}</strong>.
      </Text>
      <Note>
        {ROLE_WORDS[role].meaning}. The invitation expires <Time at={expires_at} />.
      </Note>
      {accept.isError ? <Fault error={accept.error} /> : null}
      <Button
        loading={accept.isPending || accept.isSuccess}
        onClick={() => void join().catch(() => undefined)}
      >
        Join {org_name}
      </Button>
    </Stack>
  );
}

function Instead() {
  const [fault, setFault] = useState<unknown>();
  const { own_deferred: isDeferred, is_undecided: isUndecided } = useSession();
  async function start(): Promise<void> {
    try {
      await MovedNote.during(() => call("POST /api/console/organizations/own"));
      globalThis.location.assign("/welcome");
    } catch (error) {
      setFault(error);
    }
  }
  return (
    <>
      {isUndecided ? null : <LinkButton to="/">Go to overview</LinkButton>}
      {isDeferred ? (
        <Button variant="default" onClick={() => void start()}>
          Start an organization of your own
        </Button>
      ) : null}
      {fault === undefined ? null : <Fault error={fault} />}
    </>
  );
}

interface FoundInvitation {
  readonly invitation?: ReceivedInvitation;
  readonly fault?: unknown;
}

/**
 * Reads the invitation of a link. The answer is not cached like others, because its cache key would
 * contain the token.
 */
function useFoundInvitation(token: string): FoundInvitation {
  const [found, setFound] = useState<FoundInvitation>({});
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    call("POST /api/console/received-invitations/find", { body: { token }, signal }).then(
      (invitation) => setFound({ invitation }),
      (fault: unknown) => {
        if (signal.aborted) return;
        if (fault instanceof ApiFault && fault.status === 410) forgetInvitation();
        setFound({ fault });
      },
    );
    return () => stopping.abort();
  }, [token]);
  return found;
}

const KEPT_AS = "tm-invitation";

/**
 * Moves the token of an invitation link from the URL's fragment, which browsers never send to a
 * server, into this tab's storage. There, it survives the redirect to the identity provider and
 * back.
 */
function takeInvitation(): string | undefined {
  const { hash, pathname } = globalThis.location;
  const token = hash.slice(1);
  if (!/^[\w-]{43}$/.test(token)) {
    const kept = recall("sessionStorage", KEPT_AS);
    return typeof kept === "string" ? kept : undefined;
  }
  remember("sessionStorage", KEPT_AS, token);
  globalThis.history.replaceState(globalThis.history.state, "", pathname);
  return token;
}

function forgetInvitation(): void {
  remember("sessionStorage", KEPT_AS, undefined);
}
