import type { ReactElement, ReactNode } from "react";

import { Brand } from "./brand.tsx";
import shell from "./shell.module.css";

/** A page without navigation: signing in, waiting for a verified email. */
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
