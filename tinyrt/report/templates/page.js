"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tip = document.getElementById("tip");

  // What a mark of a drawing stands for, on hover or with arrow keys.
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const room = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - room.width - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - room.height - 4)) + "px";
  };
  const hideTip = () => { tip.hidden = true; };
  for (const chart of all("svg.marks")) {
    const marks = all(".mark", chart), region = chart.parentElement;
    let at = -1;
    for (const title of all(".mark > title", chart)) title.remove();
    chart.addEventListener("mousemove", (event) => {
      const mark = event.target.closest(".mark");
      if (mark) showTip(mark.dataset.tip, event.clientX, event.clientY);
      else hideTip();
    });
    chart.addEventListener("mouseleave", hideTip);
    region.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !marks.length) return;
      event.preventDefault();
      if (at >= 0) marks[at].classList.remove("here");
      at = (at + step + marks.length) % marks.length;
      marks[at].classList.add("here");
      const box = marks[at].getBoundingClientRect();
      showTip(marks[at].dataset.tip, box.left, box.bottom);
    });
    region.addEventListener("blur", () => {
      hideTip();
      if (at >= 0) marks[at].classList.remove("here");
    });
  }

  // Tables sorted by a column.
  const valueOf = (row, column) => {
    const text = row.cells[column].textContent.trim();
    if (text === "equal") return Infinity;
    const value = Number(text.replace(/ to [\d,.]+$/, "").replace(/[, %\u00a0]/g, ""));
    return text === "" || Number.isNaN(value) ? text : value;
  };
  for (const made of all("table.sortable")) {
    const heads = all("thead th", made), body = made.tBodies[0];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keyed = [...body.rows].map((row) => [valueOf(row, column), row]);
        keyed.sort(([a], [b]) => {
          const both = typeof a === "number" && typeof b === "number";
          if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
          return (both ? a - b : String(a).localeCompare(b)) * (down ? -1 : 1);
        });
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }

  // Paper has no buttons: tables are open there.
  addEventListener("beforeprint", () => all("details").forEach((one) => { one.open = true; }));
})();
