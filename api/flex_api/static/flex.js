// The little that pages do in a browser beyond links and forms; without it everything still works.
"use strict";

// "/" goes to the search, as long as nobody is writing.
document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.querySelector("input[type=search]");
  if (search) { event.preventDefault(); search.focus(); }
});

// A choice takes effect at once where its form says so; without a script there is a button.
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.hasAttribute("data-at-once")) form.requestSubmit();
});

// A slider says its value beside it.
document.addEventListener("input", (event) => {
  if (event.target.type !== "range") return;
  const output = event.target.parentElement.querySelector("output");
  if (output) output.value = event.target.dataset.unit ? `${event.target.value} ${event.target.dataset.unit}` : event.target.value;
});

// The frontier's slider shows one point of the curve; the table below holds all of them.
function choose(slider) {
  const figure = slider.closest("figure");
  figure.querySelectorAll("[data-point]").forEach((mark) => {
    mark.classList.toggle("chosen", mark.dataset.point === slider.value);
  });
  const row = figure.querySelector(`tr[data-point="${slider.value}"]`);
  const said = figure.querySelector("[data-said]");
  if (row && said) said.textContent = row.dataset.say;
}
document.addEventListener("input", (event) => {
  if (event.target.matches("[data-chooses]")) choose(event.target);
});
document.addEventListener("click", (event) => {
  const slider = event.target.matches("circle[data-point]") && event.target.closest("figure")?.querySelector("[data-chooses]");
  if (slider) { slider.value = event.target.dataset.point; choose(slider); }
});
document.querySelectorAll("[data-chooses]").forEach((slider) => { slider.closest("[hidden]")?.removeAttribute("hidden"); choose(slider); });

// Parts of the picture of the partition light up while a name is written; the button asks for all sites, also small ones.
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-lights]")) return;
  const wanted = event.target.value.trim().toLowerCase();
  event.target.closest("section").querySelectorAll("[data-site], .seg.lit").forEach((part) => {
    part.classList.toggle("lit", wanted !== "" && (part.dataset.site || "").toLowerCase().includes(wanted));
  });
});

// The small sites of a node open where somebody points at them; the line below the picture opens them without a script.
document.addEventListener("click", (event) => {
  const small = event.target.closest(".seg.small");
  const opens = small && small.closest("svg").parentElement.closest("details, figure").querySelector(":scope > details.opens");
  if (opens) { opens.open = true; opens.scrollIntoView({ block: "nearest" }); }
});

// Each other part leads to its site; so does the table below the picture.
document.addEventListener("click", (event) => {
  const part = event.target.closest(".seg[data-to]");
  if (part) location.assign(part.dataset.to);
});

// Where part of a page was asked for: a session that ended leads to the sign-in page, silence is said where the answer
// would stand. What FLEX itself says against it htmx puts there.
document.addEventListener("htmx:beforeSwap", (event) => {
  const asked = new URL(event.detail.xhr.responseURL || location.href);
  if (asked.pathname === "/login") { event.detail.shouldSwap = false; location.assign(asked); }
});
for (const silent of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(silent, (event) => {
    const said = document.createElement("p");
    said.className = "box alarm";
    said.setAttribute("role", "alert");
    said.textContent = "FLEX did not answer. Nothing was changed. See that it runs, then ask again.";
    event.detail.target.replaceChildren(said);
  });
}

// While a button is held down, what came for the page waits: if it were moved or replaced, the click would be lost.
let held = false;
const waiting = [];
document.addEventListener("pointerdown", () => { held = true; });
for (const over of ["pointerup", "pointercancel"]) {
  // The click comes before what this sets off.
  document.addEventListener(over, () => setTimeout(() => { held = false; waiting.splice(0).forEach((xhr) => xhr.onload()); }));
}
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (held) { event.preventDefault(); waiting.push(event.detail.xhr); }
});

document.documentElement.classList.add("scripted");

// What is said of a moment in UTC, a title says by the clock of whoever reads it, too.
function sayLocalTimes() {
  document.querySelectorAll("time[datetime]:not([data-local])").forEach((time) => {
    time.dataset.local = "";
    time.title = `${new Date(time.dateTime).toLocaleString()} here, ${time.title}`;
  });
}
sayLocalTimes();
document.addEventListener("htmx:afterSettle", sayLocalTimes);
