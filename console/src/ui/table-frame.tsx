import {
  useEffect,
  useRef,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
} from "react";

import kit from "./kit.module.css";
import styles from "./table.module.css";

export interface TableFrameProps {
  readonly caption: string;
  /** If true, a row takes two lines in narrow windows. */
  readonly isFolded: boolean;
  /** If true, the table scrolls vertically in its own box. */
  readonly isTall?: boolean;
  readonly frame?: RefObject<HTMLDivElement | null>;
  readonly children: ReactNode;
}

/** Lets a wide table scroll sideways. A shadow marks each side on which it continues. */
export function TableFrame(props: TableFrameProps): ReactElement {
  const own = useRef<HTMLDivElement>(null);
  const frame = props.frame ?? own;
  useEdges(frame);
  const names = [
    kit.tableScroll,
    styles.frame,
    ...(props.isTall === true ? [kit.tableTall] : []),
    ...(props.isFolded ? [styles.folded] : []),
  ];
  return (
    <div
      ref={frame}
      className={names.join(" ")}
      tabIndex={0}
      role="group"
      aria-label={props.caption}
      onKeyDown={onArrow}
    >
      {props.children}
    </div>
  );
}

/** Sets `data-more-left` and `data-more-right` on the frame, from which CSS draws the shadows. */
function useEdges(frame: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const box = frame.current;
    if (box === null) return undefined;
    const mark = (): void => {
      const hidden = box.scrollWidth - box.clientWidth;
      box.toggleAttribute("data-more-left", box.scrollLeft > 1);
      box.toggleAttribute("data-more-right", hidden - box.scrollLeft > 1);
    };
    const observer = new ResizeObserver(mark);
    observer.observe(box);
    for (const child of box.children) observer.observe(child);
    box.addEventListener("scroll", mark, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", mark);
    };
  }, [frame]);
}

/** Arrow keys move the focus from a link or button to its column in the next or previous row. */
function onArrow(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" } as const;
  const way = step[event.key as keyof typeof step];
  const from = event.target;
  if (way === undefined || !(from instanceof HTMLElement) || !from.matches("a, button")) return;
  const cell = from.closest("td");
  const row = cell?.closest("tr")?.[way];
  if (cell === null || !(row instanceof HTMLTableRowElement)) return;
  const there = row.cells[cell.cellIndex]?.querySelector<HTMLElement>("a, button");
  if (there === null || there === undefined) return;
  event.preventDefault();
  there.focus();
}
