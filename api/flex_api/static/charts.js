// Pictures to zoom and to point at, drawn by ECharts from the very marks of the picture that stands in the page already.
// That one stays for paper, for readers of screens and where there is no script.
"use strict";

const drawn = new Map();
const SHARE = 100;
// With no more marks there is nothing to zoom into. Chosen by eye.
const FEW = 12;

function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

// Marks stand at per cents of the plot; an axis says between which values that is.
function axisOf(plot, name) {
  const [low, high] = plot.dataset[name].split(" ").map(Number);
  return { low, high, log: plot.dataset.scale === "log" };
}
function value(axis, part) {
  const at = axis.low + (axis.high - axis.low) * part;
  return axis.log ? 10 ** at : at;
}
function partOf(mark, name) { return parseFloat(mark.getAttribute(name)) / SHARE; }

function bytes(amount) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  const power = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log10(Math.max(amount, 1)) / 3 + 1e-9)));
  const size = amount / 1000 ** power;
  return `${size < 9.95 && power ? +size.toFixed(1) : Math.round(size)} ${units[power]}`;
}
const SAID = {
  bytes,
  share: (part) => `${+(part * SHARE).toFixed(part < 0.1 ? 1 : 0)} %`,
  number: (count) => (Number.isInteger(count) ? count.toLocaleString("en") : ""),
};

function points(plot, across, up) {
  const groups = new Map();
  for (const mark of plot.querySelectorAll("circle[cx]")) {
    const kind = ["ring", "two", "dots", "one", "dot"].find((name) => mark.classList.contains(name));
    if (!groups.has(kind)) groups.set(kind, []);
    groups.get(kind).push({
      value: [value(across, partOf(mark, "cx")), value(up, 1 - partOf(mark, "cy"))],
      symbolSize: 2 * parseFloat(mark.getAttribute("r")),
      said: mark.querySelector("title")?.textContent || "",
    });
  }
  return groups;
}

function look(kind) {
  const accent = colour("accent"), quiet = colour("quiet"), ground = colour("ground");
  return {
    dot: { type: "scatter", itemStyle: { color: accent, opacity: 0.55 } },
    ring: { type: "scatter", itemStyle: { color: ground, borderColor: colour("alarm"), borderWidth: 2 }, z: 4 },
    dots: { type: "scatter", itemStyle: { color: "transparent", borderColor: colour("text"), borderWidth: 1.5 }, z: 4 },
    one: { type: "line", lineStyle: { color: accent, width: 2 }, itemStyle: { color: accent } },
    two: { type: "line", lineStyle: { color: quiet, width: 1.5, type: "dashed" }, itemStyle: { color: quiet } },
  }[kind];
}

function levels(plot, up) {
  const lines = [...plot.querySelectorAll("line.fair")].map((line) => {
    const standing = line.getAttribute("x1") === line.getAttribute("x2");
    const where = standing ? { xAxis: value(axisOf(plot, "across"), partOf(line, "x1")) }
      : { yAxis: value(up, 1 - partOf(line, "y1")) };
    return { ...where, name: line.dataset.name || "", label: { position: standing ? "insideStartTop" : "insideEndTop" } };
  });
  const band = plot.querySelector("rect.band");
  const top = band && value(up, 1 - partOf(band, "y"));
  return {
    markLine: {
      silent: true, symbol: "none", data: lines,
      lineStyle: { color: colour("quiet"), type: "dashed" },
      label: { formatter: "{b}", color: colour("quiet") },
    },
    ...(band && { markArea: { silent: true, itemStyle: { color: colour("band") }, data: [[{ yAxis: 0 }, { yAxis: top }]] } }),
  };
}

function axis(plot, name, extent) {
  const say = SAID[plot.dataset[`${name}Said`]];
  const ticks = plot.dataset[`${name}Said`] === "names" ? JSON.parse(plot.dataset.names) : null;
  const quiet = colour("quiet"), line = colour("line");
  const named = name === "up" ? { nameLocation: "end", nameGap: 14, nameTextStyle: { align: "left", color: quiet, padding: [0, 0, 0, -40] } }
    : { nameLocation: "middle", nameGap: 26, nameTextStyle: { color: quiet } };
  return {
    name: plot.dataset[`${name}Name`], ...named,
    type: extent.log ? "log" : "value",
    min: extent.log ? 10 ** extent.low : extent.low, max: extent.log ? 10 ** extent.high : extent.high,
    axisLabel: { color: quiet, hideOverlap: true, showMaxLabel: extent.log, formatter: ticks ? (at) => ticks[at] || "" : say },
    axisLine: { lineStyle: { color: line } }, splitLine: { show: !ticks, lineStyle: { color: line } },
    minInterval: ticks || plot.dataset[`${name}Said`] === "number" ? 1 : 0,
  };
}

function option(plot) {
  const across = axisOf(plot, "across"), up = axisOf(plot, "up"), text = colour("text"), quiet = colour("quiet");
  const series = [...points(plot, across, up)].map(([kind, data]) => ({ ...look(kind), data, symbol: "circle", emphasis: { scale: 1.6 } }));
  if (series.length) Object.assign(series[0], levels(plot, up));
  const zooms = plot.querySelectorAll("circle[cx]").length > FEW;
  return {
    animation: false, textStyle: { color: text, fontFamily: getComputedStyle(document.body).fontFamily },
    grid: { left: 8, right: 16, top: 46, bottom: plot.dataset.acrossName ? 26 : 8, containLabel: true },
    tooltip: {
      confine: true, backgroundColor: colour("raised"), borderColor: colour("line"), textStyle: { color: text },
      renderMode: "richText", formatter: (one) => one.data.said,
    },
    ...(zooms && { toolbox: {
      right: 8, iconStyle: { borderColor: quiet }, emphasis: { iconStyle: { borderColor: colour("accent"), textFill: text } },
      feature: { dataZoom: { title: { zoom: "Zoom: draw a box", back: "One step back" } }, restore: { title: "All of it" } },
    },
    // The wheel alone scrolls the page.
    dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", filterMode: "none" }, { type: "inside", yAxisIndex: 0, zoomOnMouseWheel: "ctrl", filterMode: "none" }] }),
    xAxis: axis(plot, "across", across), yAxis: axis(plot, "up", up), series,
  };
}

// What is seen of the sites can be drawn anew, each by itself: the fields below the picture follow the zoom.
function told(chart, figure) {
  const form = figure.querySelector("form[data-zooms]");
  if (!form) return;
  chart.getOption().dataZoom.slice(0, 2).forEach((zoom, at) => {
    const name = ["held", "sent"][at], whole = zoom.start === 0 && zoom.end === SHARE;
    form.elements[`${name}_from`].value = whole ? "" : Math.max(0, Math.floor(zoom.startValue));
    form.elements[`${name}_to`].value = whole ? "" : Math.ceil(zoom.endValue);
  });
}

function draw(plot) {
  const figure = plot.closest("figure"), place = document.createElement("div");
  place.className = "chart";
  place.setAttribute("aria-hidden", "true");
  place.style.height = `${plot.getBoundingClientRect().height + 24}px`;
  plot.before(place);
  plot.classList.add("behind");
  const chart = echarts.init(place, null, { renderer: "svg" });
  chart.setOption(option(plot));
  chart.on("datazoom", () => told(chart, figure));
  const slider = figure.querySelector("[data-chooses]");
  if (slider) {
    const show = () => chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: Number(slider.value) });
    slider.addEventListener("input", show);
    chart.on("click", (one) => {
      if (one.seriesIndex !== 0) return;
      slider.value = one.dataIndex;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  drawn.set(plot, chart);
  new ResizeObserver(() => chart.isDisposed() || chart.resize()).observe(place);
}

function drawAll() {
  for (const [plot, chart] of drawn) {
    if (!plot.isConnected) { chart.dispose(); drawn.delete(plot); }
  }
  document.querySelectorAll("svg[data-across]").forEach((plot) => { if (!drawn.has(plot)) draw(plot); });
}
drawAll();
document.addEventListener("htmx:afterSettle", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [plot, chart] of drawn) chart.setOption(option(plot));
});
