import { notificationsStore } from "@mantine/notifications";
import { lazy, Suspense, useEffect, useState, type ReactElement } from "react";

const NoticeArea = lazy(() => import("./notice-area.tsx"));

/** Loads the code that shows Mantine notifications only when the first notification is sent. */
export function Notices(): ReactElement | null {
  const [isNeeded, setNeeded] = useState(false);
  useEffect(() => notificationsStore.subscribe(() => setNeeded(true)), []);
  if (!isNeeded) return null;
  return (
    <Suspense>
      <NoticeArea />
    </Suspense>
  );
}
