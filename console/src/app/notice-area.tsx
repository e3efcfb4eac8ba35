import { Notifications } from "@mantine/notifications";
import type { ReactElement } from "react";

/** The corner where short messages stand. */
export default function NoticeArea(): ReactElement {
  return <Notifications position="bottom-right" limit={4} />;
}
