import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/**
 * Mounts closed and then opens. Mantine records which element has the focus when a dialog opens,
 * and gives the focus back to it on close.
 */
export default function LoadedDialog(props: ModalProps) {
  const [isThere, setThere] = useState(false);
  useEffect(() => setThere(true), []);
  return <Modal {...props} opened={props.opened && isThere} />;
}
