/** Numbers and names as people read them. */

/** Three digits, or whole from a hundred on, as in the sentences of `dbtool scaling`. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "—";
  if (Math.abs(value) >= 100) {
    const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(3));
    return rounded.toLocaleString("en-US", { maximumFractionDigits: 0 });
  }
  return String(Number(value.toPrecision(3)));
}

/** A number as dbtool prints it in a table; nothing where there is none. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  return Number.isFinite(value) ? String(value) : "";
}

const WORDS: Record<string, string> = { val: "validation", train: "training", test: "test" };

/** val_classification_error: validation classification error. */
export function metricName(metric: string): string {
  const [split = "", ...rest] = metric.split("_");
  return [WORDS[split] ?? split, ...rest].join(" ");
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
