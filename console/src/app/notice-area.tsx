import { Notifications } from "@mantine/notifications";

export default function NoticeArea() {
  return <Notifications position="bottom-right" limit={4} />;
}
