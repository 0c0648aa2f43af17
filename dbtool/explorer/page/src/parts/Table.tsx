/** A table under a chart: sorted by the column whose head is pressed. */

import { useState } from "preact/hooks";
import type { Row } from "../csv";
import { cellText, shortNumber } from "../numbers";

interface Props {
  label: string;
  columns: readonly string[];
  rows: readonly Row[];
  /** What pressing the first cell of a row does. */
  onOpen?: (row: Row) => void;
  /** null: there is nothing to open. */
  openLabel?: (row: Row) => string | null;
}

const FIRST_ROWS = 100;

export function Table({ label, columns, rows, onOpen, openLabel }: Props) {
  const [sorting, setSorting] = useState<{ column: string; down: boolean } | null>(null);
  const [shown, setShown] = useState(FIRST_ROWS);
  const sorted = sorting ? [...rows].sort((a, b) => compared(a[sorting.column], b[sorting.column], sorting.down)) : rows;
  const numeric = new Set(columns.filter((name) => rows.some((row) => typeof row[name] === "number")));
  const sort = (column: string) => setSorting({ column, down: sorting?.column === column ? !sorting.down : false });
  return (
    <div class="rows" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th
                key={name}
                scope="col"
                class={numeric.has(name) ? "number" : ""}
                aria-sort={sorting?.column === name ? (sorting.down ? "descending" : "ascending") : "none"}
              >
                <button type="button" onClick={() => sort(name)}>
                  {name.replaceAll("_", " ")}
                  <span aria-hidden="true">{sorting?.column === name ? (sorting.down ? " ↓" : " ↑") : ""}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, shown).map((row, index) => (
            <tr key={index}>
              {columns.map((name, place) => (
                <td key={name} class={numeric.has(name) ? "number" : ""} title={cellText(row[name])}>
                  {place === 0 && onOpen && openLabel?.(row) ? (
                    <button type="button" class="link" aria-label={openLabel(row) ?? ""} onClick={() => onOpen(row)}>
                      {shownCell(name, row[name])}
                    </button>
                  ) : (
                    shownCell(name, row[name])
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 1000)}>
          Show more of {sorted.length.toLocaleString("en-US")} rows
        </button>
      )}
    </div>
  );
}

const WHOLE = new Set(["batch_size", "steps", "after", "trial_id", "trials", "step"]);

export function shownCell(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "—";
  if (typeof value === "number") return WHOLE.has(name) ? value.toLocaleString("en-US") : shortNumber(value);
  return String(value);
}

function compared(a: unknown, b: unknown, down: boolean): number {
  const [one, two] = [a ?? null, b ?? null];
  if (one === null || two === null) return Number(one === null) - Number(two === null);
  const order = typeof one === "number" && typeof two === "number" ? one - two : String(one).localeCompare(String(two));
  return down ? -order : order;
}
