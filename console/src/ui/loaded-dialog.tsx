import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";

/**
 * Mounts closed, then opens: Mantine records the focused element on that transition, and returns
 * the focus to it when the dialog closes.
 */
export default function LoadedDialog(props: ModalProps): ReactElement {
  const [isThere, setThere] = useState(false);
  useEffect(() => setThere(true), []);
  return <Modal {...props} opened={props.opened && isThere} />;
}
