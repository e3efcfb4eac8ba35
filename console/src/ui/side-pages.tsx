import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import kit from "./kit.module.css";

export interface SideGroup {
  /** The heading above the links. */
  readonly label?: string;
  readonly links: readonly {
    readonly to: string;
    readonly hash?: string;
    readonly label: string;
  }[];
}

/** Pages that share a menu. The menu is at their side, or in narrow windows above them. */
export function SidePages(props: {
  readonly label: string;
  readonly groups: readonly SideGroup[];
  readonly head?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <div className={kit.sidePages}>
      <div className={kit.sideMenu}>
        {props.head}
        <nav aria-label={props.label}>
          {props.groups.map(({ label, links }) => (
            <div key={label ?? props.label} className={kit.sideGroup}>
              {label === undefined ? null : <div className={kit.sideLabel}>{label}</div>}
              <ul>
                {links.map(({ to, hash, label: name }) => (
                  <li key={`${to}#${hash ?? ""}`}>
                    <Link
                      to={to}
                      {...(hash === undefined || hash === "" ? {} : { hash })}
                      activeOptions={{
                        exact: true,
                        includeSearch: false,
                        includeHash: hash !== undefined,
                      }}
                    >
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
      </div>
      {props.children}
    </div>
  );
}
