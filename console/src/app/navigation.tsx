import { Anchor, UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  BookOpen,
  Boxes,
  ChartColumn,
  CreditCard,
  Gauge,
  KeyRound,
  LayoutDashboard,
  MessageSquare,
  Plug,
  Scale,
  Server,
  Settings,
  Wrench,
  type LucideIcon,
} from "lucide-react";

import { useSession } from "../api/use-answer.ts";
import { GROUP_LABELS, PLACES, placesFor, type Place } from "./places.ts";
import shell from "./shell.module.css";

export function Navigation({ onHelp }: { readonly onHelp: () => void }) {
  const session = useSession();
  const { installation } = session;
  const places = placesFor(PLACES, session);
  const groups = (["use", "account", "market", "operate"] as const).filter((group) =>
    places.some((place) => place.group === group),
  );
  return (
    <>
      <nav aria-label="Pages" className={shell.nav}>
        {groups.map((group) => (
          <div key={group}>
            <div className={shell.navLabel} id={`nav-${group}`}>
              {GROUP_LABELS[group]}
            </div>
            <ul className={shell.navGroup} aria-labelledby={`nav-${group}`}>
              {places
                .filter((place) => place.group === group)
                .map((place) => (
                  <li key={place.to}>
                    <PlaceLink place={place} />
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <footer className={shell.navFoot}>
        <UnstyledButton onClick={onHelp} fz="xs">
          Keyboard shortcuts
        </UnstyledButton>
        <div>
          <FootLink label="Privacy" href={installation.privacy_url} />{" "}
          <FootLink label="Terms" href={installation.terms_url} />
        </div>
      </footer>
    </>
  );
}

function PlaceLink({ place }: { readonly place: Place }) {
  const Icon = ICONS[place.to] ?? Boxes;
  return (
    <Link
      to={place.to}
      className={shell.navLink}
      activeOptions={{ exact: place.to === "/", includeSearch: false }}
    >
      <Icon size={17} aria-hidden />
      {place.label}
    </Link>
  );
}

function FootLink(props: { readonly label: string; readonly href: string | null }) {
  if (props.href === null || props.href === "") return null;
  return (
    <Anchor href={props.href} size="xs" c="dimmed">
      {props.label}
    </Anchor>
  );
}

const ICONS: Readonly<Record<string, LucideIcon>> = {
  "/": LayoutDashboard,
  "/usage": ChartColumn,
  "/playground": MessageSquare,
  "/optimize": Scale,
  "/keys": KeyRound,
  "/billing": CreditCard,
  "/limits": Gauge,
  "/connections": Plug,
  "/settings": Settings,
  "/models": Boxes,
  "/providers": Server,
  "/docs": BookOpen,
  "/operator": Wrench,
};
