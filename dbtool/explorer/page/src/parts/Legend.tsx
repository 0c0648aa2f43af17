/** Which colour and symbol is whose. */

import { symbol } from "d3-shape";
import { symbolOf } from "../charts/common";
import type { Named } from "../facts";

export function Swatch({ of }: { of: Named }) {
  return (
    <svg viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true">
      {of.marker && <path d={symbol(symbolOf(of.marker), 80)() ?? ""} style={{ fill: of.colour, stroke: of.colour }} />}
      {!of.marker && <path d="M-7 0H7" style={{ stroke: of.colour, strokeWidth: 2.5 }} />}
    </svg>
  );
}

export function Legend({ of }: { of: readonly Named[] }) {
  return (
    <ul class="legend">
      {of.map((each) => (
        <li key={each.label}>
          <Swatch of={each} />
          {each.label}
        </li>
      ))}
    </ul>
  );
}
