/** A chart with its title, what it can be taken away as, and its table. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Drawing } from "../charts/common";
import { csvOf, type Row } from "../csv";
import { counted } from "../numbers";
import { copy, pngBlob, save, svgText } from "../save";
import { say } from "./reading";
import { Table } from "./Table";

interface Props {
  id: string;
  title: string;
  about?: ComponentChildren;
  goal?: string | undefined;
  legend?: ComponentChildren;
  /** Draws the chart so many pixels wide; null: there is nothing to draw. */
  draw: ((width: number) => Drawing) | null;
  empty?: string;
  /** What the chart shows, for those who cannot see it. */
  alt: string;
  columns: readonly string[];
  rows: readonly Row[];
  sql?: string;
  command?: string;
  /** What a click on a point, which is given, does. */
  onPick?: (value: unknown) => void;
  onOpen?: (row: Row) => void;
  openLabel?: (row: Row) => string | null;
  children?: ComponentChildren;
}

export function Card(props: Props) {
  const { id, title, about, goal, legend, draw, empty, alt, columns, rows, sql, command, onPick, onOpen, openLabel } = props;
  const picture = () => document.querySelector(`#${id} .chart > svg`) as SVGSVGElement;
  const heading = goal ? `${title}; goal: ${goal}` : title;
  return (
    <section class="card" aria-labelledby={`${id}-title`} id={id}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {goal && <p class="about">Goal: {goal}</p>}
        {about && <p class="about">{about}</p>}
        {legend}
      </header>
      {draw ? <Chart draw={draw} alt={alt} onPick={onPick} /> : <p class="empty">{empty}</p>}
      {props.children}
      <div class="actions" role="group" aria-label={`Download or copy: ${title}`}>
        <Action label="CSV" hint={`Download ${title} as CSV`} act={() => save(`${id}.csv`, csvOf(columns, rows))} />
        {draw && (
          <>
            <Action label="PNG" hint={`Download ${title} as PNG`} act={async () => save(`${id}.png`, await pngBlob(picture(), heading))} />
            <Action label="SVG" hint={`Download ${title} as SVG`} act={() => save(`${id}.svg`, svgText(picture(), heading), "image/svg+xml")} />
          </>
        )}
        {sql && <Action label="Copy SQL" hint={`Copy SQL of ${title}`} act={() => copied(sql, "SQL")} />}
        {command && <Action label="Copy command" hint={`Copy command of ${title}`} act={() => copied(command, "command")} />}
      </div>
      <Folded title="Table" count={rows.length}>
        {() => <Table label={`Table: ${title}`} columns={columns} rows={rows} onOpen={onOpen} openLabel={openLabel} />}
      </Folded>
    </section>
  );
}

/** Rows that are made only once they are asked for: a slider would make them anew at every move. */
export function Folded({ title, count, children }: { title: string; count: number; children: () => ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {title} <span class="count">{counted(count, "row")}</span>
      </summary>
      {open && children()}
    </details>
  );
}

export async function copied(text: string, what: string): Promise<void> {
  await copy(text);
  say(`Copied the ${what}.`);
}

export function Action({ label, hint, act }: { label: string; hint: string; act: () => void | Promise<void> }) {
  const run = async () => {
    try {
      await act();
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <button type="button" aria-label={hint} title={hint} onClick={run}>
      {label}
    </button>
  );
}

interface ChartProps {
  draw: (width: number) => Drawing;
  alt: string;
  onPick?: ((value: unknown) => void) | undefined;
}

export function Chart({ draw, alt, onPick }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element || width < 50) return;
    const chart = draw(width);
    // The page's policy runs its own style alone; page.css has what these say.
    for (const style of chart.querySelectorAll("style")) style.remove();
    // The image as a whole says what it shows; names of its parts would say it in pieces.
    for (const part of chart.querySelectorAll("g[aria-label]")) part.setAttribute("aria-hidden", "true");
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", alt);
    chart.addEventListener("click", () => {
      if (chart.value) pick.current?.(chart.value);
    });
    element.replaceChildren(chart);
  });
  return <div class={onPick ? "chart picks" : "chart"} ref={holder} />;
}
