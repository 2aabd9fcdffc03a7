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
function showSliders() {
  document.querySelectorAll("[hidden] [data-chooses]").forEach((slider) => { slider.closest("[hidden]").removeAttribute("hidden"); choose(slider); });
}
showSliders();
document.addEventListener("htmx:afterSettle", showSliders);

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

// Each other part, or a dot, leads to its site; so does the table below the picture.
document.addEventListener("click", (event) => {
  const part = event.target.closest("svg [data-to]");
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

// While somebody holds a button or a link down, what came for the page waits: were it moved or replaced, the click would
// be lost. On touch the click comes some time after the release. No press lasts longer than ten seconds, whatever a browser
// keeps to itself.
const CLICKED = 300, LONGEST = 10000, waiting = [];
let pressed;
function releaseAfter(milliseconds) {
  clearTimeout(pressed);
  pressed = setTimeout(() => { pressed = undefined; waiting.splice(0).forEach((load) => setTimeout(load)); }, milliseconds);
}
document.addEventListener("pointerdown", (event) => {
  if (event.isPrimary && event.button === 0 && event.target.closest("button, a, summary, label")) releaseAfter(LONGEST);
});
for (const over of ["pointerup", "pointercancel"]) {
  document.addEventListener(over, () => { if (pressed) releaseAfter(CLICKED); });
}
document.addEventListener("htmx:beforeSend", (event) => {
  const { xhr } = event.detail, load = xhr.onload;
  xhr.onload = () => { if (pressed) waiting.push(load); else load(); };
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
