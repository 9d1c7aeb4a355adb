// Enhances a page that also works without it: sorts and filters tables, shows the values of charts'
// points on pointer, touch and keyboard, and unfolds everything for print. The page's address keeps order
// and filters. It moves, hides and shows existing elements; text becomes text (textContent), never markup.
"use strict";
(() => {
  const all = (selector, place = document) => [...place.querySelectorAll(selector)];
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

  // The address. `#results.sort=-2&results.filter=spark` is the table of the section `results` by its
  // third column, descending; `#cell-...` leads to a row, which is unfolded and taken out of filters.
  const address = () =>
    new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = (key, value) => {
    const params = address();
    if ((params.get(key) ?? "") === value) return;
    if (value) params.set(key, value); else params.delete(key);
    try { history.replaceState(null, "", `#${params}`); } catch { /* a frame of a notebook */ }
  };
  const unfold = (element) => {
    for (let at = element.closest("details"); at; at = at.parentElement.closest("details"))
      at.open = true;
  };
  const restored = new Map();
  const restore = () => {
    if (location.hash.includes("=")) return restored.forEach((one) => one());
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    unfold(target);
    if (target.hidden) target.dispatchEvent(new Event("reveal", { bubbles: true }));
    target.scrollIntoView();
  };

  // Tables. A heading may span columns and lines, a row may have a cell over several columns.
  const columns = (head) => {
    const taken = [], found = new Map();
    [...head.rows].forEach((row, line) => {
      let at = 0;
      for (const cell of row.cells) {
        while (taken[line]?.[at]) at += 1;
        found.set(cell, at);
        for (let y = line; y < line + cell.rowSpan; y += 1)
          for (let x = at; x < at + cell.colSpan; x += 1) (taken[y] ??= [])[x] = true;
        at += cell.colSpan;
      }
    });
    return found;
  };
  const cellAt = (row, column) => {
    let at = 0;
    for (const cell of row.cells) {
      at += cell.colSpan;
      if (column < at) return cell.colSpan === 1 ? cell : null;
    }
    return null;
  };
  const number = (cell) => {
    const exact = all("[title]", cell).map((one) => one.title);
    const texts = [...exact, cell.textContent].map((text) => text.trim().replaceAll(",", ""));
    return texts.map((text) => parseFloat(text.replace("\u2212", "-"))).find(Number.isFinite) ?? null;
  };
  const valueOf = (row, column, numeric) => {
    const cell = cellAt(row, column);
    if (cell === null) return null;
    return numeric ? number(cell) : cell.textContent.trim();
  };
  const before = (a, b) =>
    typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  // A row, and the remark below it, move and hide together.
  const units = (body) => {
    const found = [];
    for (const row of body.rows)
      if (row.classList.contains("why")) found.at(-1)?.push(row);
      else if (!row.querySelector("th.of")) found.push([row]);
    return found;
  };
  const table = (one) => {
    const bodies = [...one.tBodies].map((body) => ({ body, rows: units(body) }));
    const rows = bodies.flatMap((part) => part.rows);
    if (rows.length < 2) return;
    one.classList.add("tools");
    const section = one.closest("section[id]") ?? document.body;
    const place = all("table.sortable", section).indexOf(one);
    const key = `${section.id || "page"}${place > 0 ? place : ""}`;
    const heads = [...columns(one.tHead)].filter(([head]) => head.scope === "col");
    const order = (column, numeric, way) => {
      for (const { body, rows: own } of bodies) {
        const known = own.map((unit) => ({ unit, value: valueOf(unit[0], column, numeric) }));
        if (way)
          known.sort((a, b) =>
            a.value === null || b.value === null
              ? (a.value === null) - (b.value === null)
              : way * before(a.value, b.value));
        body.append(...known.flatMap(({ unit }) => unit));
      }
    };
    const isNumeric = (head) => head.classList.contains("num");
    const sort = ([head, column], way) => {
      for (const [other] of heads) other.removeAttribute("aria-sort");
      if (way) head.setAttribute("aria-sort", way);
      order(column, isNumeric(head), { ascending: 1, descending: -1 }[way] ?? 0);
    };
    for (const [head, column] of heads) {
      const button = make("button", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const ways = ["ascending", "descending"];
        const [first, second] = isNumeric(head) ? ways.reverse() : ways;
        const next = { [first]: second, [second]: "" }[head.ariaSort] ?? first;
        sort([head, column], next);
        keep(`${key}.sort`, next && `${next === "descending" ? "-" : ""}${column}`);
      });
    }
    const restoreOrder = () => {
      const wanted = address().get(`${key}.sort`) ?? "";
      const chosen = heads.find(([, column]) => `${column}` === wanted.replace("-", ""));
      if (chosen) {
        unfold(one);
        sort(chosen, wanted.startsWith("-") ? "descending" : "ascending");
      } else if (heads.some(([head]) => head.ariaSort)) sort(heads[0], "");
    };
    restored.set(key, restoreOrder);
    restoreOrder();
    if (rows.length < 6) return;
    const box = make("input", { type: "search", placeholder: "any column" });
    const clear = make("button", { type: "button", textContent: "Clear", hidden: true });
    const output = make("output", {});
    const label = make("label", {}), line = make("div", { className: "filter" });
    label.append("Filter ", box);
    line.append(label, " ", clear, " ", output);
    (one.closest(".scroll") ?? one).before(line);
    clear.addEventListener("click", () => {
      box.value = "";
      box.dispatchEvent(new Event("input"));
      box.focus();
    });
    box.setAttribute("aria-label", `Filter: ${one.caption?.textContent.trim() ?? "rows"}`);
    const filter = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      // All columns, the remark below, and the group's facts that the row does not show.
      const fits = (unit) => {
        const cells = unit.flatMap((row) => [...row.cells].map((cell) => cell.textContent));
        const text = [unit[0].dataset.find ?? "", ...cells].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      let left = 0;
      for (const { body, rows: own } of bodies) {
        for (const unit of own) {
          const hidden = !fits(unit);
          for (const row of unit) row.hidden = hidden;
          left += !hidden;
        }
        body.hidden = own.every(([row]) => row.hidden);
      }
      clear.hidden = !words.length;
      output.textContent = words.length ? `${left} of ${rows.length} rows` : "";
    };
    box.addEventListener("input", () => { filter(); keep(`${key}.filter`, box.value.trim()); });
    one.addEventListener("reveal", () => { box.value = ""; filter(); });
    const restoreFilter = () => {
      box.value = address().get(`${key}.filter`) ?? "";
      if (box.value) unfold(one);
      filter();
    };
    restored.set(key, () => { restoreOrder(); restoreFilter(); });
    restoreFilter();
  };

  // Charts. Each is a list of points with places and texts.
  const tip = make("div", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  const hide = () => {
    tip.hidden = true;
    for (const one of all(".spot.on, .cursor.on")) one.classList.remove("on");
  };
  const show = (point) => {
    hide();
    point.mark.classList.add("on");
    point.place?.();
    tip.textContent = point.text;
    tip.hidden = false;
    const box = point.mark.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const fits = box.top > tip.offsetHeight + 12;
    const top = fits ? box.top - tip.offsetHeight - 8 : box.bottom + 8;
    tip.style.left = `${scrollX + Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${scrollY + top}px`;
  };
  const spots = (svg) =>
    all(".spot", svg).map((mark) => {
      const title = mark.querySelector("title");
      const text = title.textContent;
      title.remove(); // otherwise the browser shows it a second time
      return { mark, text };
    });
  const moments = (svg) => {
    const lines = all("path[data-values]", svg).map((path) => ({
      name: path.dataset.name, values: path.dataset.values.split("|"),
    }));
    const cursor = svg.querySelector(".cursor");
    if (!lines.length || !cursor) return [];
    return svg.dataset.times.split(" ").map((pair, index) => {
      const [time, x] = pair.split("@");
      const texts = lines.filter((line) => line.values[index])
        .map((line) => `${line.name}: ${line.values[index]}`);
      return {
        mark: cursor, x: Number(x), text: [`${time} s`, ...texts].join("\n"),
        place: () => { cursor.setAttribute("x1", x); cursor.setAttribute("x2", x); },
      };
    });
  };
  const chart = (svg) => {
    const points = svg.dataset.times ? moments(svg) : spots(svg);
    if (!points.length) return;
    let at = -1;
    const go = (index) => { at = Math.max(0, Math.min(index, points.length - 1)); show(points[at]); };
    const away = (point, event) => {
      if (point.x !== undefined) {
        const box = svg.getBoundingClientRect();
        return Math.abs(box.left + point.x * box.width / svg.viewBox.baseVal.width - event.clientX);
      }
      const box = point.mark.getBoundingClientRect();
      const dx = box.left + box.width / 2 - event.clientX;
      return Math.hypot(dx, box.top + box.height / 2 - event.clientY);
    };
    const seek = (event) => {
      const far = points.map((point) => away(point, event));
      const nearest = far.indexOf(Math.min(...far));
      if (far[nearest] < 40) go(nearest); else hide();
    };
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-description", "Arrow keys read the values of its points.");
    svg.addEventListener("pointermove", seek);
    svg.addEventListener("pointerdown", seek);
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) go(Math.max(at, 0)); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const to = {
        ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1,
        Home: 0, End: points.length - 1,
      }[event.key];
      if (to !== undefined) { event.preventDefault(); go(to); }
      if (event.key === "Escape") hide();
    });
  };
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("svg")) hide(); });

  // Print unfolds everything. A box marks a table that is wider than itself.
  let opened = [];
  addEventListener("beforeprint", () => {
    hide();
    opened = all("details:not([open])");
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
  const markOverflow = (box) => box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  const wide = new ResizeObserver((boxes) => boxes.forEach(({ target }) => markOverflow(target)));

  // The charts answer a phone's reader; the table of all cells is long there.
  if (matchMedia("(max-width: 48rem)").matches)
    for (const one of all("details.every")) one.open = false;
  all("table.sortable").forEach(table);
  all("figure > svg").forEach(chart);
  all(".scroll").forEach((box) => { markOverflow(box); wide.observe(box); });
  document.addEventListener("table", ({ target }) => table(target)); // one that another script made
  document.body.append(tip);
  addEventListener("hashchange", restore);
  restore();
})();
