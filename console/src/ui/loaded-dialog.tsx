import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/**
 * Mounts closed and then opens, because Mantine records the focused element only when `opened`
 * changes. On close, it gives the focus back to that element.
 */
export default function LoadedDialog(props: ModalProps) {
  const [isThere, setThere] = useState(false);
  useEffect(() => setThere(true), []);
  return <Modal {...props} opened={props.opened && isThere} />;
}
