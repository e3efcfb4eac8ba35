import { ActionIcon } from "@mantine/core";
import { CircleUser } from "lucide-react";
import { lazy, type ReactElement } from "react";

import { LoadedOnClick } from "../ui/menu-button.tsx";

const UserMenuOpened = lazy(() => import("./user-menu-opened.tsx"));

export function UserMenu({ onHelp }: { readonly onHelp: () => void }): ReactElement {
  const button = (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Your account">
      <CircleUser size={20} aria-hidden />
    </ActionIcon>
  );
  return (
    <LoadedOnClick button={button}>
      <UserMenuOpened button={button} onHelp={onHelp} />
    </LoadedOnClick>
  );
}
