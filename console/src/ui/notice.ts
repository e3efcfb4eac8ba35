import { notifications } from "@mantine/notifications";

import { ApiFault } from "../api/client.ts";

/** Says that something was done. */
export function notifyDone(text: string): void {
  notifications.show({ message: text, color: "green", closeButtonProps: CLOSE });
}

/** Says what went wrong, with the request id; stays until it is closed. */
export function notifyFault(error: unknown): void {
  const fault = error instanceof ApiFault ? error : undefined;
  const id = fault?.requestId === undefined ? "" : ` (request id ${fault.requestId})`;
  notifications.show({
    title: "That did not work",
    message: `${fault?.message ?? "something on this page failed; reload it"}${id}`,
    color: "red",
    autoClose: false,
    closeButtonProps: CLOSE,
  });
}

const CLOSE = { "aria-label": "Close message" };
