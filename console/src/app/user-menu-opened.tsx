import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Keyboard, LogOut, Settings } from "lucide-react";

import { ROLE_WORDS } from "../../../src/kernel/core/roles.ts";
import { useSession } from "../api/use-answer.ts";
import { notifyFault } from "../ui/notice.ts";
import OpenedMenu, { type MenuButtonProps } from "../ui/opened-menu.tsx";
import { OrgSwitch } from "./org-switch.tsx";
import shell from "./shell.module.css";
import { signOut } from "./sign-in.ts";
import { Note } from "../ui/page.tsx";

export default function UserMenuOpened(props: {
  readonly button: MenuButtonProps["button"];
  readonly onHelp: () => void;
}) {
  return (
    <OpenedMenu
      label="Your account"
      position="bottom-end"
      button={props.button}
      width={250}
      padding={6}
    >
      {(close) => <Links onHelp={props.onHelp} onLeave={close} />}
    </OpenedMenu>
  );
}

function Links(props: {
  readonly onHelp: () => void;
  /** Closes the menu. */
  readonly onLeave: () => void;
}) {
  const { user, org } = useSession();
  return (
    <>
      <div className={shell.who}>
        <Text size="sm" fw={500} truncate>
          {user?.name ?? user?.email}
        </Text>
        {user?.name == null || user.name === user.email ? null : (
          <Note size="xs" truncate>
            {user.email}
          </Note>
        )}
        <Note size="xs" truncate>
          {org === null ? null : `${org.name} · ${ROLE_WORDS[org.role].name}`}
        </Note>
      </div>
      <OrgSwitch onLeave={props.onLeave} />
      <Link to="/settings" className={shell.navLink} onClick={props.onLeave} data-autofocus>
        <Settings size={16} aria-hidden />
        Settings
      </Link>
      <button
        type="button"
        className={shell.navLink}
        onClick={() => {
          props.onLeave();
          props.onHelp();
        }}
      >
        <Keyboard size={16} aria-hidden />
        Keyboard shortcuts
      </button>
      <button
        type="button"
        className={shell.navLink}
        onClick={() => void signOut().catch(notifyFault)}
      >
        <LogOut size={16} aria-hidden />
        Sign out
      </button>
    </>
  );
}
