/** Which colour and symbol is whose. */

import { symbol } from "d3-shape";
import { colourOf, symbolOf } from "../charts/common";

export function Swatch({ index }: { index: number }) {
  return (
    <svg viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true">
      <path d={symbol(symbolOf(index), 90)() ?? ""} style={{ fill: colourOf(index) }} />
    </svg>
  );
}

export function Legend({ of }: { of: readonly { label: string; index: number }[] }) {
  return (
    <ul class="legend">
      {of.map((each) => (
        <li key={each.index}>
          <Swatch index={each.index} />
          {each.label}
        </li>
      ))}
    </ul>
  );
}
