import type { ReactElement, ReactNode } from "react";

import { Brand } from "./brand.tsx";
import shell from "./shell.module.css";

/** The frame of a page without navigation, for example while an email address is unverified. */
export function BareFrame({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <div className={shell.bare}>
      <header className={shell.bareHeader}>
        <Brand />
      </header>
      <main className={shell.bareMain}>{children}</main>
    </div>
  );
}
