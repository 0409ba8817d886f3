"use strict";
// Tables sort by a click on a heading: upwards first, then downwards. Cells without a
// number stay last.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.querySelectorAll("th:has(button)")];
  const value = (row, i) => {
    const {dataset: {key}, textContent} = row.cells[i];
    return key === undefined ? textContent : key === "" ? null : Number(key);
  };
  heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].map(row => ({row, v: value(row, i)}));
    rows.sort((a, b) => {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      const c = typeof a.v === "number" ? a.v - b.v : a.v.localeCompare(b.v, undefined, {numeric: true});
      return up ? c : -c;
    });
    body.append(...rows.map(r => r.row));
  }));
}
