"use strict";
(() => {
  const form = document.getElementById("ask");
  const answer = document.getElementById("answer");
  const drop = document.getElementById("drop");
  const model = document.getElementById("model");

  const element = (tag, text, children = []) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    made.append(...children);
    return made;
  };
  const number = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));

  const costs = (report) => {
    const found = report.models[0];
    const core = found.cores[0];
    const rows = [
      ["instructions per inference", core.instructions],
      ["flash for code, bytes", core.flash.code],
      ["flash for weights, bytes", core.flash.weights],
      ["arena, bytes", core.ram.arena],
      ["stack, bytes", core.ram.stack],
    ].map(([what, value]) => element("tr", "", [element("th", what), element("td", number(value))]));
    rows.forEach((row) => row.firstChild.setAttribute("scope", "row"));
    const answers = core.bit_exact === false ? "; answers otherwise than the host" : "";
    const how = `${core.basis}${answers}`;
    const caption = element("caption", `${found.name} on ${core.core}, ${how}`);
    return [element("table", "", [caption, element("tbody", "", rows)])];
  };

  const refusal = (error) => {
    const facts = Object.entries(error).filter(([name]) => name !== "problem");
    const list = facts.flatMap(([name, text]) => [element("dt", name), element("dd", text)]);
    return [element("p", error.problem), element("dl", "", list)];
  };

  const save = (name, content) => {
    const link = element("a", `Save ${name}`);
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    return [element("p", "", [link])];
  };

  const said = (text) => {
    try {
      return JSON.parse(text).error;
    } catch {
      return { problem: text };
    }
  };

  const shown = async (path, response) => {
    if (!response.ok) return refusal(said(await response.text()));
    if (path === "api/report") return costs(await response.json());
    const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "");
    return save(name ? name[1] : "report.html", await response.blob());
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { path } = event.submitter.dataset;
    const fields = new FormData(form);
    if (!fields.get("calibration").size) fields.delete("calibration");
    answer.replaceChildren(element("p", "Working…"));
    answer.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(path, { method: "POST", body: fields });
      answer.replaceChildren(...(await shown(path, response)));
    } catch (error) {
      answer.replaceChildren(element("p", `The server does not answer: ${error.message}`));
    }
    answer.setAttribute("aria-busy", "false");
  });

  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length) model.files = event.dataTransfer.files;
    });
  }
})();
