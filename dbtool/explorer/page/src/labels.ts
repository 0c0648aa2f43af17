/** What curves are called: the parts of their names in which those that are drawn differ. */

import type { Workload } from "./facts";

export function labelsOf(workloads: readonly Workload[], severalReleases: boolean): string[] {
  const parts = workloads.map((each) => each.workload.split("/"));
  const [first = []] = parts;
  const sameDepth = parts.every((each) => each.length === first.length);
  const differs = first.map((part, place) => parts.some((each) => each[place] !== part));
  return workloads.map((each, index) => {
    const own = parts[index] ?? [];
    // Of one curve, or of curves that nothing but their release tells apart, the whole name.
    const words = sameDepth && differs.some(Boolean) ? own.filter((_, place) => differs[place]) : own;
    return [words.join("/"), severalReleases ? `(${each.release})` : ""].filter(Boolean).join(" ");
  });
}
