import { Notifications } from "@mantine/notifications";
import type { ReactElement } from "react";

/** The corner of the window that shows short messages. */
export default function NoticeArea(): ReactElement {
  return <Notifications position="bottom-right" limit={4} />;
}
