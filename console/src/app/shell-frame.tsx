import type { ReactElement } from "react";

import kit from "../ui/kit.module.css";
import { Loading } from "../ui/loading.tsx";
import { Brand } from "./brand.tsx";
import shell from "./shell.module.css";

/** The frame of every page while it is not known who reads it: nothing moves when the page comes. */
export function ShellFrame(): ReactElement {
  return (
    <div className={shell.frame}>
      <header className={shell.header}>
        <Brand />
      </header>
      <div className={shell.navbar} />
      <main className={shell.main}>
        <h1 className={kit.hidden}>Token Market</h1>
        <div className={shell.content}>
          <Loading rows={6} />
        </div>
      </main>
    </div>
  );
}
