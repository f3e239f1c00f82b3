// The path as boxes and lines, in the order of the data.

import { make } from "./elements.js";

export function drawPath(list, note, path) {
  const items = [];
  path.nodes.forEach((node, number) => {
    const about = node.about.map((text) => make("small", {}, text));
    items.push(make("li", { class: "node" }, node.name, ...about));
    const link = path.links[number];
    if (link) items.push(line(link));
  });
  list.replaceChildren(...items);
  const facts = `Round-trip time without queues ${path.base_rtt}, bandwidth-delay product ${path.bdp}.`;
  note.textContent = [facts, path.note].filter(Boolean).join(" ");
}

function line(link) {
  return make(
    "li",
    { class: "link" },
    make("span", { class: "line end" }),
    way(link.data, "→", "data"),
    make("span", { class: "line" }),
    way(back(link), "←", "back"),
    make("span", { class: "line end" }),
  );
}

// Of the way back, what differs from the data's.
function back(link) {
  const same = new Map(link.data.settings.map((one) => [one.name, one.text]));
  const settings = link.back.settings.filter((one) => same.get(one.name) !== one.text);
  return { ...link.back, settings: settings.length ? settings : [{ name: "", text: "the same" }] };
}

function way(direction, arrow, kind) {
  const texts = direction.settings.map((one, number) => {
    const name = one.name === "rate" || one.name === "delay" || !one.name ? "" : `${one.name} `;
    const value = one.name === "rate" ? make("b", {}, one.text) : one.text;
    return [number ? ", " : "", name, value];
  });
  const label = make("span", { class: "hidden" }, `${direction.from} to ${direction.to}: `);
  return make("p", { class: kind }, label, make("span", { "aria-hidden": "true" }, `${arrow} `), ...texts.flat());
}
