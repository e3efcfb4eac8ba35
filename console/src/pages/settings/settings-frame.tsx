import { Page, type PageProps } from "../../ui/page.tsx";
import { SidePages } from "../../ui/side-pages.tsx";

const GROUPS = [
  {
    links: [
      { to: "/settings", label: "You" },
      { to: "/settings/organization", label: "Organization" },
      { to: "/settings/members", label: "Members" },
      { to: "/settings/alerts", label: "Alerts" },
      { to: "/settings/changes", label: "Changes" },
    ],
  },
] as const;

export function SettingsFrame(page: PageProps) {
  return (
    <SidePages label="Settings" groups={GROUPS}>
      <Page crumbs={[{ label: "Settings", to: "/settings" }]} {...page} />
    </SidePages>
  );
}
