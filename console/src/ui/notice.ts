import { notifications } from "@mantine/notifications";

import { ApiFault, faultText } from "../api/client.ts";

export function notifyDone(text: string): void {
  notifications.show({ message: text, color: "green", closeButtonProps: CLOSE });
}

export function notifyProblem(text: string): void {
  notifications.show({ message: text, color: "red", closeButtonProps: CLOSE });
}

/** Shows an error message with its request ID. It stays until the reader closes it. */
export function notifyFault(error: unknown): void {
  const fault = error instanceof ApiFault ? error : undefined;
  const id = fault?.requestId === undefined ? "" : ` (request ID ${fault.requestId})`;
  notifications.show({
    title: "Something went wrong",
    message: `${faultText(error)}${id}`,
    color: "red",
    autoClose: false,
    closeButtonProps: CLOSE,
  });
}

/** The callbacks of a change: they show `done` on success, and the error otherwise. */
export function notices<T>(done: string | ((answer: T) => string)): {
  readonly onSuccess: (answer: T) => void;
  readonly onError: (error: unknown) => void;
} {
  return {
    onSuccess: (answer) => notifyDone(typeof done === "string" ? done : done(answer)),
    onError: notifyFault,
  };
}

const CLOSE = { "aria-label": "Close message" };
