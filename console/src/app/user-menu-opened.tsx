import "./more-styles.ts";

import { ActionIcon, Popover, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleUser, Keyboard, LogOut, Settings } from "lucide-react";
import { useState, type ReactElement } from "react";

import { ROLE_WORDS } from "../../../src/kernel/core/roles.ts";
import { useSession } from "../api/use-session.ts";
import { notifyFault } from "../ui/notice.ts";
import { OrgSwitch } from "./org-switch.tsx";
import shell from "./shell.module.css";
import { signOut } from "./sign-out.ts";

/** The account menu; it is open when it first appears. */
export default function UserMenuOpened({ onHelp }: { readonly onHelp: () => void }): ReactElement {
  const { user, org } = useSession();
  const [isOpen, setOpen] = useState(true);
  function close(): void {
    setOpen(false);
  }
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      width={250}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label="Your account"
          onClick={() => setOpen((now) => !now)}
        >
          <CircleUser size={20} aria-hidden />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={6}>
        <div className={shell.who}>
          <Text size="sm" fw={500} truncate>
            {user?.name ?? user?.email}
          </Text>
          {user?.name == null || user.name === user.email ? null : (
            <Text size="xs" c="dimmed" truncate>
              {user.email}
            </Text>
          )}
          <Text size="xs" c="dimmed" truncate>
            {org === null ? null : `${org.name} · ${ROLE_WORDS[org.role].name}`}
          </Text>
        </div>
        <OrgSwitch onLeave={close} />
        <Link to="/settings" className={shell.navLink} onClick={close} data-autofocus>
          <Settings size={16} aria-hidden />
          Settings
        </Link>
        <button
          type="button"
          className={shell.navLink}
          onClick={() => {
            close();
            onHelp();
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
      </Popover.Dropdown>
    </Popover>
  );
}
