import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import shell from "./shell.module.css";

export function Brand() {
  return (
    <Link to="/" className={shell.brand} aria-label="Token Market, home page">
      <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden>
        <rect width="32" height="32" rx="7" className={shell.brandGround} />
        <path d="M7 9h18M16 9v15" className={shell.brandStroke} />
        <path d="M7 17h4M21 17h4M7 23h4M21 23h4" className={shell.brandStroke} />
      </svg>
      <span className={shell.brandName}>Token Market</span>
    </Link>
  );
}

/** The frame of a page without navigation, for example while an email address is unverified. */
export function BareFrame({ children }: { readonly children: ReactNode }) {
  return (
    <div className={shell.bare}>
      <header className={shell.bareHeader}>
        <Brand />
      </header>
      <main className={shell.bareMain}>{children}</main>
    </div>
  );
}
