import { Suspense, useState, type ReactElement, type ReactNode } from "react";

/**
 * Mounts its content when that is first opened and keeps it, so that what closes still has its way
 * out: a page does not wait for what was not opened yet.
 */
export function WhenOpened(props: {
  readonly opened: boolean;
  readonly children: ReactNode;
}): ReactElement | null {
  const { opened } = props;
  const [wasOpened, setWasOpened] = useState(opened);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? <Suspense>{props.children}</Suspense> : null;
}
