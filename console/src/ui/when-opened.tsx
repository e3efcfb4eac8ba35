import { Suspense, useState, type ReactElement, type ReactNode } from "react";

/**
 * Mounts its content when it is first opened, so that a page does not load the content earlier. The
 * content stays mounted after closing, for its closing transition.
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
