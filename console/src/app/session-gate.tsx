import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, type ReactElement } from "react";

import type { RouteName, Session } from "../../../src/account/console-api/contract.ts";
import { noteShownOrg } from "../api/client.ts";
import { useAnswer } from "../api/use-answer.ts";
import { useMaybeSession, useSession } from "../api/use-session.ts";
import { Fault } from "../ui/fault.tsx";
import kit from "../ui/kit.module.css";
import { BareFrame } from "./bare-frame.tsx";
import { MovedNote } from "./moved-note.ts";
import { ShellFrame } from "./shell-frame.tsx";
import { Redirect } from "./redirect.tsx";
import { signInAddress, type SignInReason } from "./sign-in-address.ts";

/** The balance and the notices are at most this old while the page is visible. */
const BALANCE_MS = 10_000;
/** Without credit the banner has to go within seconds of a purchase, wherever that was made. */
const UNFUNDED_MS = 3_000;

/** Reads the session before any page, and keeps people without a verified email on one page. */
export function SessionGate(): ReactElement {
  const answer = useAnswer("GET /api/console/session", undefined, paceOf(useMaybeSession()));
  useForgetting(answer.data);
  // The page that is shown, not the one that is still loading: no other page may flash up.
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  if (answer.data === undefined) {
    return answer.isError ? (
      <BareFrame>
        <h1 className={kit.hidden}>Token Market</h1>
        <Fault error={answer.error} retry={() => void answer.refetch()} />
      </BareFrame>
    ) : (
      <ShellFrame />
    );
  }
  if (answer.data.state === "unverified" && pathname !== "/verify") {
    return <Redirect to="/verify" />;
  }
  return <Outlet />;
}

/**
 * Nothing that one account was shown is kept for the next: signing out, here or in another tab,
 * forgets every answer, and another account begins with a page of its own. So does another
 * organization, and the page then says why it shows it.
 */
function useForgetting(session: Session | undefined): void {
  const client = useQueryClient();
  const last = useRef<Session>(undefined);
  useEffect(() => {
    if (session === undefined) return;
    if (session.state !== "signed_in") {
      noteShownOrg(undefined);
      if (last.current !== undefined) {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION });
      }
      return;
    }
    const before = last.current;
    last.current = session;
    if (before === undefined || isSame(before, session)) noteShownOrg(session.org?.org_id);
    // Where this page leads to another organization itself, it is being loaded anew already.
    else if (!MovedNote.isExpected) {
      noteMove(before, session);
      globalThis.location.reload();
    }
  }, [client, session]);
}

function isSame(before: Session, now: Session): boolean {
  return before.user?.email === now.user?.email && before.org?.org_id === now.org?.org_id;
}

/**
 * Notes that the same person is in another organization now: removed from this one, or moved by
 * another tab.
 */
function noteMove(before: Session, { user, others }: Session): void {
  const { org, is_undecided: isUndecided } = before;
  if (org === null || isUndecided || before.user?.email !== user?.email) return;
  const isMember = others.some(({ org_id: id }) => id === org.org_id);
  MovedNote.keep({ from: org.name, isMember }, Date.now());
}
const SESSION: RouteName = "GET /api/console/session";

function paceOf(session: Session | undefined): { readonly refetchMs?: number } {
  if (session?.state !== "signed_in") return {};
  return { refetchMs: session.is_funded ? BALANCE_MS : UNFUNDED_MS };
}

/** Pages of an organization: without a session they lead to the sign-in page and back. */
export function PrivateGate(): ReactElement {
  const session = useSession();
  const wasSignedIn = useRef(false);
  useEffect(() => {
    if (session.state === "signed_in") wasSignedIn.current = true;
  }, [session.state]);
  if (session.state === "signed_in") {
    // A person who was invited before they had an organization first joins one, or begins their own.
    return session.is_undecided ? <Redirect to="/join" /> : <Outlet />;
  }
  return <ToSignIn reason={reasonOf(session, wasSignedIn.current)} />;
}

/** A visitor who was never signed in gets no message about an expired session. */
function reasonOf(session: Session, wasSignedIn: boolean): SignInReason | undefined {
  return session.ended_reason ?? (wasSignedIn ? "expired" : undefined);
}

/** The sign-in page is the server's own, without a script: it is loaded, once. */
export function ToSignIn({ reason }: { readonly reason: SignInReason | undefined }): null {
  const first = useRef(reason);
  useEffect(() => {
    globalThis.location.replace(signInAddress({ reason: first.current }));
  }, []);
  return null;
}
