import { Notifications } from "@mantine/notifications";
import type { ReactElement } from "react";

export default function NoticeArea(): ReactElement {
  return <Notifications position="bottom-right" limit={4} />;
}
