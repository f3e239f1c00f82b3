// Elements by name, attributes and children.

export const by = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function stroke(colour, dash) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("width", 22);
  picture.setAttribute("height", 10);
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "line");
  const values = {
    x1: 0,
    x2: 22,
    y1: 5,
    y2: 5,
    stroke: colour,
    "stroke-width": 2.5,
    "stroke-dasharray": dash.join(" "),
  };
  for (const [key, value] of Object.entries(values)) line.setAttribute(key, value);
  picture.append(line);
  return picture;
}
