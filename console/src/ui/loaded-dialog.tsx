import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";

/**
 * Mounts closed and then opens, because Mantine records the focused element when a dialog opens,
 * and returns the focus to it on close.
 */
export default function LoadedDialog(props: ModalProps): ReactElement {
  const [isThere, setThere] = useState(false);
  useEffect(() => setThere(true), []);
  return <Modal {...props} opened={props.opened && isThere} />;
}
