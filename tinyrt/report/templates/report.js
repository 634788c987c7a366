"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const models = JSON.parse(byId("data").textContent);
  const number = (value) => (value === null ? "–" : value.toLocaleString("en-US"));

  // Milliseconds at the clock that the reader sets.
  const mhz = byId("mhz"), cpi = byId("cpi");
  const showTimes = () => {
    const clock = Number(mhz.value), cycles = Number(cpi.value);
    if (!(clock > 0) || !(cycles > 0)) return;
    for (const place of all(".time")) {
      const own = Number(place.dataset.mhz || clock);
      const ms = (Number(place.dataset.instructions) * cycles) / own / 1000;
      place.textContent = ms.toFixed(2) + (place.dataset.mhz ? "" : " ms");
    }
  };
  if (mhz) {
    mhz.addEventListener("input", showTimes);
    cpi.addEventListener("input", showTimes);
    mhz.form.addEventListener("submit", (event) => event.preventDefault());
  }

  // All about an op.
  const dialog = byId("op");
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const table = (heads, rows, parent) => {
    const scroll = make("div", "", parent);
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    const made = make("table", "", scroll);
    const top = make("tr", "", make("thead", "", made));
    for (const head of heads) make("th", head, top).scope = "col";
    const body = make("tbody", "", made);
    for (const row of rows) {
      const line = make("tr", "", body);
      for (const cell of row) make("td", cell, line);
    }
  };
  const openOp = (model, index) => {
    const op = models[model][index], text = byId("op-text");
    if (!op) return;
    byId("op-title").textContent = op.title;
    text.replaceChildren();
    make("p", op.name, text).className = "name";
    make("p", number(op.macs) + " multiply-accumulates", text);
    const attributes = Object.entries(op.attributes);
    if (attributes.length) {
      make("h3", "Attributes", text);
      table(["attribute", "value"], attributes, text);
    }
    make("h3", "Tensors", text);
    const tensors = op.inputs.map((one) => ["input", ...one]);
    table(["", "tensor", "type", "quantisation"].map((head) => head || "role"),
      [...tensors, ...op.outputs.map((one) => ["output", ...one])], text);
    if (op.error.length) {
      make("h3", "Quantisation error", text);
      table(["figure", "value"], op.error, text);
    }
    for (const core of op.cores) {
      make("h3", core.core, text);
      const rows = [["instructions", number(core.instructions)]];
      if (core.cycles) rows.push(["cycles", core.cycles]);
      if (core.instructions && op.macs) {
        rows.push(["per multiply-accumulate", (core.instructions / op.macs).toFixed(3)]);
      }
      if (core.baseline !== null) rows.push(["TFLM with CMSIS-NN", number(core.baseline)]);
      rows.push(["arena in use, bytes", number(core.arena)]);
      rows.push(["kernel", core.kernel || "none: only the host can compute it"]);
      if (core.why) rows.push(["why this one", core.why]);
      table(["figure", "value"], rows, text);
    }
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".open");
    if (!button) return;
    const model = button.closest("table").dataset.model;
    openOp(Number(model), Number(button.closest("tr").dataset.op));
  });

  // Graphs: moved and zoomed by Panzoom.
  const graphs = new Map();
  for (const holder of all(".graph")) {
    const svg = holder.querySelector("svg"), model = Number(holder.dataset.model);
    const nodes = all(".node", svg);
    const whole = Math.min(1, holder.clientWidth / (svg.clientWidth || 1));
    holder.classList.add("live");
    const zoom = Panzoom(svg, { canvas: true, minScale: 0.02, maxScale: 4, origin: "0 0",
      startScale: whole, step: 0.25, overflow: "hidden", touchAction: "none" });
    const key = holder.id.replace("-graph", "");
    const show = (node) => {
      const scale = zoom.getScale(), frame = holder.getBoundingClientRect();
      const box = node.getBoundingClientRect(), pan = zoom.getPan();
      zoom.pan(pan.x + (frame.left + frame.width / 2 - box.left - box.width / 2) / scale,
        pan.y + (frame.top + frame.height / 2 - box.top - box.height / 2) / scale);
    };
    const reset = () => {
      zoom.zoom(whole);
      zoom.pan(0, 0);
    };
    graphs.set(key, { zoom, show, nodes, reset });
    holder.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      zoom.zoomWithWheel(event);
    });
    let at = 0, from = null;
    const go = (to) => {
      nodes[at].tabIndex = -1;
      at = to;
      nodes[at].tabIndex = 0;
      nodes[at].focus({ preventScroll: true });
      show(nodes[at]);
    };
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step && nodes[at + step]) {
        event.preventDefault();
        go(at + step);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        openOp(model, Number(nodes[at].dataset.op));
      }
    });
    svg.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
    svg.addEventListener("click", (event) => {
      const node = event.target.closest(".node");
      const moved = from && Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 5;
      if (node && !moved) openOp(model, Number(node.dataset.op));
    });
  }
  for (const button of all("[data-zoom]")) {
    button.addEventListener("click", () => {
      const { zoom, reset } = graphs.get(button.dataset.of);
      if (button.dataset.zoom === "in") zoom.zoomIn();
      else if (button.dataset.zoom === "out") zoom.zoomOut();
      else reset();
    });
  }

  // Search in graphs, filters of tables.
  const textOf = (model, index) => {
    const op = models[model][index];
    const kernels = op.cores.map((core) => core.kernel);
    return [op.title, op.name, ...kernels].join(" ").toLowerCase();
  };
  for (const input of all(".search")) {
    const { nodes, show } = graphs.get(input.dataset.of);
    const model = Number(byId(input.dataset.of + "-graph").dataset.model);
    const search = () => {
      const words = input.value.trim().toLowerCase();
      const hits = nodes.filter((n) => words && textOf(model, Number(n.dataset.op)).includes(words));
      for (const node of nodes) {
        node.classList.toggle("hit", hits.includes(node));
        node.classList.toggle("miss", Boolean(words) && !hits.includes(node));
      }
      byId(input.dataset.of + "-hits").textContent = words ? hits.length + " found" : "";
      if (hits.length) show(hits[0]);
    };
    input.addEventListener("input", search);
  }
  const filter = (key) => {
    const rows = all("#" + key + "-ops > tbody > tr");
    const words = document.querySelector(`.filter[data-of="${key}"]`).value.trim().toLowerCase();
    const kind = document.querySelector(`.kind[data-of="${key}"]`);
    const fitting = key === "parts" && byId("fitting").checked;
    let shown = 0;
    for (const row of rows) {
      const fits = !fitting || row.dataset.fits === "1";
      const ofKind = !kind || !kind.value || row.dataset.kind === kind.value;
      row.hidden = !(fits && ofKind && row.textContent.toLowerCase().includes(words));
      shown += row.hidden ? 0 : 1;
    }
    byId(key + "-shown").textContent = shown + " of " + rows.length;
  };
  for (const input of all(".filter, .kind")) {
    input.addEventListener("input", () => filter(input.dataset.of));
  }
  if (byId("fitting")) byId("fitting").addEventListener("input", () => filter("parts"));
})();
