import { ActionIcon, Burger, Button, Kbd, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Outlet, useRouterState, useSearch } from "@tanstack/react-router";
import { ChevronsUpDown, Search } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { useSession } from "../api/use-answer.ts";
import { MenuButton } from "../ui/menu-button.tsx";
import { BalanceLink, SchemeSwitch, UserMenu } from "./header-parts.tsx";
import { Banners } from "./banners.tsx";
import { Brand } from "./brand.tsx";
import { MovedLine } from "./moved-note.tsx";
import { Navigation } from "./navigation.tsx";
import shell from "./shell.module.css";
import { signInAddress } from "./sign-in.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { Note } from "../ui/page.tsx";

const CommandPalette = lazy(() => import("./command-palette.tsx"));
const HelpDialog = lazy(() => import("./help-dialog.tsx"));
const OrgSwitch = lazy(async () => ({ default: (await import("./org-switch.tsx")).OrgSwitch }));
const LinkedLine = lazy(async () => ({ default: (await import("./org-switch.tsx")).LinkedLine }));

export function Shell({ children }: { readonly children?: ReactNode }) {
  const session = useSession();
  const [isMenuOpen, menu] = useDisclosure(false);
  const [overlay, setOverlay] = useState<"palette" | "help">();
  const main = useMainFocus(menu.close);
  useShortcuts({
    onPalette: () => setOverlay((now) => (now === "palette" ? undefined : "palette")),
    onHelp: () => setOverlay("help"),
    session,
  });
  return (
    <>
      <a href="#main" className={shell.skip}>
        Skip to content
      </a>
      <div className={shell.frame}>
        <header className={shell.header}>
          <Burger
            opened={isMenuOpen}
            onClick={menu.toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={isMenuOpen ? "Close navigation" : "Open navigation"}
            aria-expanded={isMenuOpen}
            aria-controls="navigation"
          />
          <Brand />
          <OrgName name={session.org?.name} />
          <PaletteButton onClick={() => setOverlay("palette")} />
          {session.balance === null ? null : (
            <BalanceLink
              balance={session.balance}
              isTestMoney={session.installation.is_test_money}
            />
          )}
          <SchemeSwitch />
          {session.state === "signed_out" ? (
            <Button component="a" size="xs" href={signInAddress({})}>
              Sign in
            </Button>
          ) : (
            <UserMenu onHelp={() => setOverlay("help")} />
          )}
        </header>
        <div
          id="navigation"
          className={shell.navbar}
          data-open={isMenuOpen || undefined}
          onKeyDown={(event) => (event.key === "Escape" ? menu.close() : undefined)}
        >
          <Navigation onHelp={() => setOverlay("help")} />
        </div>
        {isMenuOpen ? <div className={shell.shade} onClick={menu.close} /> : null}
        <main id="main" tabIndex={-1} ref={main} className={shell.main}>
          <MovedLine />
          <Linked />
          <Banners session={session} />
          <div className={shell.content}>{children ?? <Outlet />}</div>
        </main>
      </div>
      <Suspense>
        {overlay === "palette" ? <CommandPalette onClose={() => setOverlay(undefined)} /> : null}
        {overlay === "help" ? <HelpDialog onClose={() => setOverlay(undefined)} /> : null}
      </Suspense>
    </>
  );
}

function Linked() {
  const { org } = useSearch({ strict: false }) as { readonly org?: string };
  return <Suspense>{org === undefined ? null : <LinkedLine linked={org} />}</Suspense>;
}

/**
 * Moves the focus to the content of each new page, for screen readers and keyboards. A dialog that
 * was opened while the page was loading keeps the focus.
 */
function useMainFocus(onNewPage: () => void): RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const shown = useRef(pathname);
  useEffect(() => {
    if (pathname === undefined || pathname === shown.current) return;
    const dialog = document.activeElement?.closest('[role="dialog"]') ?? null;
    if (shown.current !== undefined && dialog === null)
      main.current?.focus({ preventScroll: true });
    shown.current = pathname;
    onNewPage();
  }, [pathname, onNewPage]);
  return main;
}

function OrgName({ name }: { readonly name: string | undefined }) {
  const { others, invitations } = useSession();
  const text = (
    <Note truncate className={shell.org} title={name}>
      {name}
    </Note>
  );
  if (others.length + invitations.length === 0) return text;
  const button = (
    <UnstyledButton className={shell.orgSwitch} aria-label={`Organization ${name ?? ""}: change`}>
      {text}
      <ChevronsUpDown size={14} aria-hidden />
    </UnstyledButton>
  );
  return (
    <MenuButton label="Change organization" position="bottom-start" button={button}>
      {(close) => (
        <Suspense>
          <OrgSwitch onLeave={close} />
        </Suspense>
      )}
    </MenuButton>
  );
}

function PaletteButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <>
      <Button
        variant="default"
        size="xs"
        visibleFrom="md"
        onClick={onClick}
        leftSection={<Search size={14} aria-hidden />}
        rightSection={<Kbd size="xs">{IS_MAC ? "⌘K" : "Ctrl K"}</Kbd>}
        className={shell.palette}
      >
        Search
      </Button>
      <ActionIcon
        size="lg"
        hiddenFrom="md"
        aria-label="Search pages, keys, and models"
        onClick={onClick}
      >
        <Search size={18} aria-hidden />
      </ActionIcon>
    </>
  );
}

const IS_MAC = /mac/i.test(globalThis.navigator?.userAgent ?? "");
