"use strict";
// Tables sort by a click on a heading: upwards first, then downwards. Cells without a
// number stay last.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const first = [...table.tHead.rows[0].cells].filter(c => c.rowSpan === 2);
  const heads = [...first, ...table.tHead.rows[1].cells];
  const value = (row, i) => {
    const cell = row.cells[i];
    if (i < first.length) return cell.textContent;
    return cell.dataset.key === "" ? null : Number(cell.dataset.key);
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
