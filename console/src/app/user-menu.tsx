import { ActionIcon } from "@mantine/core";
import { CircleUser } from "lucide-react";
import { lazy, Suspense, useState, type ReactElement } from "react";

const UserMenuOpened = lazy(() => import("./user-menu-opened.tsx"));

/**
 * The menu of the person who is signed in: settings, help, and signing out. The menu is loaded when
 * it is opened.
 */
export function UserMenu({ onHelp }: { readonly onHelp: () => void }): ReactElement {
  const [isWanted, setWanted] = useState(false);
  const button = (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label="Your account"
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setWanted(true)}
    >
      <CircleUser size={20} aria-hidden />
    </ActionIcon>
  );
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <UserMenuOpened onHelp={onHelp} />
    </Suspense>
  );
}
