import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import type { Session } from "../api/contract.ts";
import { noteShownOrg } from "../api/client.ts";
import { useAnswer, useSession } from "../api/use-answer.ts";
import { Fault, Loading } from "../ui/answer.tsx";
import kit from "../ui/kit.module.css";
import { BareFrame, Brand } from "./brand.tsx";
import { MovedNote } from "./moved-note.tsx";
import { NotFound } from "./not-found.tsx";
import shell from "./shell.module.css";
import { signInAddress, type SignInReason } from "./sign-in.ts";

/** Milliseconds between two reads of the session, balance and notices while the page is visible. */
const BALANCE_MS = 10_000;
/**
 * Milliseconds between two reads while there is no credit, so that the banner disappears within
 * seconds of a purchase in any tab.
 */
const UNFUNDED_MS = 3_000;

/** Reads the session before it shows any page. Without a verified email, shows only `/verify`. */
export function SessionGate() {
  const answer = useAnswer("GET /api/console/session", undefined, { refetchMs: choosePace });
  useForgetting(answer.data);
  // The path of the page on the screen. The path of a page that is still loading would be `/verify`
  // too early, and `Outlet` would then show the current page until `/verify` has loaded.
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
 * Clears the data of one account before that of another is shown. Signing out, even in another tab,
 * drops all cached answers but the session. If the account or organization has changed, reloads the
 * page; if only the organization has changed, stores a note that explains the reload.
 */
function useForgetting(session: Session | undefined): void {
  const client = useQueryClient();
  const last = useRef<Session>(undefined);
  useEffect(() => {
    if (session === undefined) return;
    if (session.state !== "signed_in") {
      noteShownOrg(undefined);
      if (last.current !== undefined) {
        client.removeQueries({
          predicate: ({ queryKey }) => queryKey[0] !== "GET /api/console/session",
        });
      }
      return;
    }
    const before = last.current;
    last.current = session;
    if (before === undefined || isSame(before, session)) noteShownOrg(session.org?.org_id);
    // If this page itself started the switch, it is already about to reload.
    else if (!MovedNote.isExpected) {
      noteMove(before, session);
      globalThis.location.reload();
    }
  }, [client, session]);
}

function isSame(before: Session, now: Session): boolean {
  return before.user?.email === now.user?.email && before.org?.org_id === now.org?.org_id;
}

function noteMove(before: Session, { user, others }: Session): void {
  const { org, is_undecided: isUndecided } = before;
  if (org === null || isUndecided || before.user?.email !== user?.email) return;
  const isMember = others.some(({ org_id: id }) => id === org.org_id);
  MovedNote.keep({ from: org.name, isMember }, Date.now());
}

function choosePace(session: Session | undefined): number | undefined {
  if (session?.state !== "signed_in") return undefined;
  return session.is_funded ? BALANCE_MS : UNFUNDED_MS;
}

/** Pages for signed-in people. Other visitors are sent to the sign-in page, and return after it. */
export function PrivateGate() {
  const session = useSession();
  const wasSignedIn = useRef(false);
  useEffect(() => {
    if (session.state === "signed_in") wasSignedIn.current = true;
  }, [session.state]);
  if (session.state === "signed_in") {
    // A new person with an invitation first accepts it or creates an organization.
    return session.is_undecided ? <Redirect to="/join" /> : <Outlet />;
  }
  const reason = session.ended_reason ?? (wasSignedIn.current ? "expired" : undefined);
  return <ToSignIn reason={reason} />;
}

/** Leads to the sign-in page with a new page load, because the server renders that page. */
export function ToSignIn({ reason }: { readonly reason: SignInReason | undefined }): null {
  const first = useRef(reason);
  useEffect(() => {
    globalThis.location.replace(signInAddress({ reason: first.current }));
  }, []);
  return null;
}

export function OperatorGate() {
  return useSession().is_operator ? <Outlet /> : <NotFound />;
}

/** The frame while the session loads. It is laid out like `Shell`, so that nothing moves. */
function ShellFrame() {
  return (
    <div className={shell.frame}>
      <header className={shell.header}>
        <Brand />
      </header>
      <div className={shell.navbar} />
      <main className={shell.main}>
        <h1 className={kit.hidden}>Token Market</h1>
        <div className={shell.content}>
          <Loading rows={6} />
        </div>
      </main>
    </div>
  );
}

/** Navigates once to another page, which replaces this one in the browser's history. */
export function Redirect({ to }: { readonly to: string }): null {
  const navigate = useNavigate();
  const target = useRef(to);
  useEffect(() => {
    void navigate({ to: target.current, replace: true });
  }, [navigate]);
  return null;
}
