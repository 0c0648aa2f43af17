/** What is seen as files: CSV, SVG and PNG; and text on the clipboard. */

const PNG_SCALE = 2;
const SVG = "http://www.w3.org/2000/svg";
/** The height of the title above a chart. */
const TITLE = 26;

export function save(name: string, content: string | Blob, type = "text/csv"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A chart as an SVG file of its own: colours as they are now, and the title above it. */
export function svgText(chart: SVGSVGElement, title: string): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const [width, height] = [chart.width.baseVal.value, chart.height.baseVal.value];
  const style = getComputedStyle(document.documentElement);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("viewBox", `0 ${-TITLE} ${width} ${height + TITLE}`);
  copy.setAttribute("height", String(height + TITLE));
  copy.style.fontFamily = getComputedStyle(document.body).fontFamily;
  copy.style.color = getComputedStyle(document.body).color;
  const heading = svgElement("text", { x: 8, y: -8, "font-size": 13, fill: "currentColor" });
  heading.textContent = title;
  copy.prepend(svgElement("rect", { y: -TITLE, width, height: height + TITLE, fill: "var(--raised)" }), heading);
  for (const tip of copy.querySelectorAll('[aria-label="tip"]')) tip.remove();
  const text = new XMLSerializer().serializeToString(copy);
  return text
    .replace(/var\((--[\w-]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim())
    .replace(/light-dark\((.+?), (.+?)\)/g, isDark() ? "$2" : "$1");
}

/** Whether the page is dark, by its button or the system. */
export function isDark(): boolean {
  const theme = document.documentElement.dataset["theme"];
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function svgElement(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [each, value] of Object.entries(attributes)) element.setAttribute(each, String(value));
  return element;
}

export async function pngBlob(chart: SVGSVGElement, title: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(chart, title))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * PNG_SCALE;
  canvas.height = image.height * PNG_SCALE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no PNG; take the SVG");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser draws no PNG; take the SVG"))), "image/png");
  });
}

/** Puts text on the clipboard. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers let a page from a disk copy only what is selected in it.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("this browser lets no page copy; select the text instead");
  }
}
