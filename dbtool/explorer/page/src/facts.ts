/** What the page holds: the facts of its releases, as dbtool/explorer wrote them. */

/** A metric of a workload, and the row group of its improvements; null: they follow from the curves. */
export interface Metric {
  metric: string;
  group: number | null;
}

export type Range = {
  min_value?: number;
  max_value?: number;
  scale?: string;
};

export interface Study {
  batch_size: number;
  /** Whether it ended when enough of its trials were past the workload's own goal. */
  stopped: boolean;
  /** Whether it searched near the best of another batch size, and not the whole space. */
  windowed: boolean;
  search_space: Record<string, Range>;
  trials: number;
  /** Of a page that reads from a server: the study's files, relative to the page. */
  shards: File[] | null;
}

export interface Workload {
  release: string;
  workload: string;
  dataset: string | null;
  metric: string | null;
  goal: number | null;
  goal_inclusive: boolean;
  trials_group: number;
  curves_group: number | null;
  metrics: Metric[];
  studies: Study[];
}

interface File {
  path: string;
  bytes: number;
}

/** A series: what it is called, its colour as CSS, and the letter that Matplotlib has for its marker; "" without one. */
export interface Named {
  label: string;
  colour: string;
  marker: string;
}

export interface Facts {
  version: string;
  /** The files beside the page that it reads from; null where it holds all itself. */
  files: { trials: File; improvements: File; curves?: File } | null;
  /** What commands that are copied say of the database, such as --db runs. */
  options: string[];
  releases: { release: string; title: string | null; licence: string | null }[];
  bibtex: string;
  /** As in every figure: colours of names, those of other series in turn, and markers as polygons; see figures/style.py. */
  looks: { colours: Record<string, string>; others: string[]; markers: Record<string, [number, number][][]> };
  workloads: Workload[];
  queries: Record<string, string>;
}

// So long a text is most of the memory that a page needs.
const LONG = 1 << 24;

/** The text of an element, which is emptied where that is long. */
export function textOf(id: string): string {
  const element = document.getElementById(id);
  const text = element?.textContent ?? "";
  if (element && text.length > LONG) element.textContent = "";
  return text;
}

export const facts = JSON.parse(textOf("facts")) as Facts;

/** What a workload is called in the page's address: no two have the same. */
export function keyOf(workload: Workload): string {
  return `${workload.release}:${workload.workload}`;
}

export function metricOf(workload: Workload, metric: string | null): string | null {
  return metric ?? workload.metric;
}
