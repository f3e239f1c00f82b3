// Lessons: a question, predictions, both sides on the page, and the answer of their runs.

import { by, make } from "./elements.js";
import { page, post } from "./requests.js";

// `show` puts a state on the page; `point` shows which control makes the change.
export async function lessons(show, point) {
  const { lessons: all, predictions } = await (await fetch("lessons")).json();
  const list = by("lesson");
  list.append(
    make("option", { value: "" }, "…"),
    ...all.map((one, number) => make("option", { value: number }, `${number + 1}. ${one.title}`)),
  );
  list.addEventListener("change", () => {
    const chosen = all[list.value];
    by("lesson-body").replaceChildren(...(chosen ? content(chosen, predictions, show, point) : []));
    if (chosen) show(chosen.before.state);
  });
}

function content(lesson, predictions, show, point) {
  const choices = predictions.map((text, number) => {
    const input = make("input", { type: "radio", name: "prediction", value: number });
    return make("label", {}, input, ` ${text}`);
  });
  const answer = make("div", { role: "status", class: "answered" });
  const sides = ["before", "after"].map((name) => {
    const button = make("button", { type: "button" }, `Show: ${lesson[name].label}`);
    button.addEventListener("click", () => {
      show(lesson[name].state);
      if (lesson.control) point(lesson.control);
    });
    return button;
  });
  const ask = make("button", { type: "button", id: "lesson-answer", disabled: true }, "Run both, and answer");
  const group = make("fieldset", {}, make("legend", {}, `${lesson.metric}: your prediction`), ...choices);
  group.addEventListener("change", () => (ask.disabled = false));
  ask.addEventListener("click", async () => {
    answer.textContent = "Running …";
    const got = await post("lessons", { page: `${page}-lesson`, lesson: lesson.id });
    if (!got.ok) return void (answer.textContent = await got.text());
    const { right, measured, why } = await got.json();
    const chosen = Number(group.querySelector("input:checked").value);
    const verdict =
      right === null
        ? "No ratio could be computed."
        : chosen === right
          ? "Your prediction is right."
          : `Not quite. ${predictions[right]}`;
    answer.replaceChildren(make("p", {}, make("b", {}, verdict), ` ${measured}`), make("p", {}, why));
  });
  return [make("p", {}, lesson.question), group, make("div", { class: "bar" }, ...sides, ask), answer];
}
