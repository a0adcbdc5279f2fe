"""Checks the rollout page for layout faults that a user would notice. No pixels are compared, because fonts differ."""
from timeline_page import expect

# JavaScript that returns the layout faults. Lengths have a tolerance of one pixel, because layouts are rounded.
LAYOUT = """(() => {
  const faults = [], seen = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const all = selector => [...document.querySelectorAll(selector)].filter(seen), box = element => element.getBoundingClientRect();
  const name = element => element.id || element.dataset.node || `${element.className || element.tagName}: ${element.textContent.slice(0, 30)}`;
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const apart = (what, elements) => elements.forEach((one, i) => elements.slice(i + 1).forEach(other => {
    if (!one.contains(other) && !other.contains(one) && meet(box(one), box(other))) faults.push(`${what}: ${name(one)} and ${name(other)} overlap`);
  }));
  // The page and all its parts fit into the window, and each text fits into its card.
  const panel = document.getElementById("panel"), {scrollWidth} = document.documentElement;
  if (scrollWidth > innerWidth) faults.push(`the page is ${scrollWidth} pixels wide, the window ${innerWidth}`);
  for (const element of all("header > *, .card, .note, .block, .tools, dialog[open]")) {
    const {left, right, width} = box(element);
    if (element.textContent && width < 20 || left < -1 || right > innerWidth + 1) faults.push(`${name(element)} is from ${left} to ${right}, the window has ${innerWidth}`);
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth) faults.push(`${name(element)} is narrower than its content`);
  }
  // Parts of the page do not overlap. The panel may cover the rest.
  apart("headline and parts", all("header > *, #notices > *, #attention > h2, #attention .note, #overview .card, #nodes > h2, #nodes > .tools, #looks > .card"));
  apart("tools", all(".tools > *"));
  apart("blocks", all("#grid h3, .block > span, .squares"));
  apart("panel", all("dialog[open] > button, dialog[open] > div > *"));
  for (const cell of all("#table th, #table td")) {
    const next = cell.nextElementSibling;
    if (next && box(cell).right > box(next).left + 1) faults.push(`cells of the table overlap: ${name(cell)}`);
  }
  // Each node has a square that is large enough to be seen and clicked, and that covers no other square.
  const least = {tile: [100, 20], large: [18, 18], small: [9, 9]}[document.getElementById("grid").dataset.size];
  const buttons = [...document.querySelectorAll(".squares button:not([hidden])")], squares = buttons.filter(seen);
  if (squares.length !== buttons.length) faults.push(`${squares.length} of ${buttons.length} squares are visible`);
  let last;
  for (const square of squares) {
    const here = box(square), around = box(square.closest(".card"));
    if (here.width < least[0] || here.height < least[1]) faults.push(`the square of ${name(square)} has ${here.width} x ${here.height} pixels`);
    if (here.left < around.left || here.right > around.right + 1) faults.push(`the square of ${name(square)} is not in its card`);
    if (last?.parent === square.parentNode && meet(last.here, here)) faults.push(`the square of ${name(square)} covers another`);
    last = {here, parent: square.parentNode};
  }
  if (panel.open) {
    const close = box(document.getElementById("close")), title = document.createRange();
    title.selectNodeContents(document.getElementById("name"));
    if ([...title.getClientRects()].some(line => meet(line, close))) faults.push("the panel's Close button covers its title");
    if (document.elementFromPoint((close.left + close.right) / 2, (close.top + close.bottom) / 2)?.id !== "close") faults.push("the panel's Close button is covered");
    if (box(panel).height < innerHeight - 1) faults.push("the panel is lower than the window");
  }
  return faults.slice(0, 20);
})()"""

# JavaScript that returns the text and graphics with too little contrast. WCAG 2.1 AA requires a contrast of 4.5 for
# text and 3 for graphics.
CONTRAST = """(() => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const known = new Map(), faults = new Set();
  const rgba = css => {
    if (!known.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      known.set(css, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(css);
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  // Returns the color of the nearest element with a background. All backgrounds are opaque.
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = rgba(getComputedStyle(element).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const check = (what, a, b, least) => {
    const found = contrast(a, b);
    if (found < least) faults.add(`${what}: ${a.slice(0, 3)} on ${b.slice(0, 3)} has a contrast of ${found.toFixed(2)}, less than ${least}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || /SCRIPT|STYLE|OPTION/.test(element.tagName) || element.disabled || !element.checkVisibility()) continue;
    check("text " + text.data.trim().slice(0, 30), rgba(getComputedStyle(element).color), behind(element), 4.5);
  }
  // Tiles need no letter and no contrast with the page, because their text shows the state.
  const hasTiles = document.getElementById("grid").dataset.size === "tile";
  for (const square of hasTiles ? [] : document.querySelectorAll(".squares button")) {
    const style = getComputedStyle(square), letter = getComputedStyle(square, "::before").content, around = behind(square.parentElement);
    if (!/none|""|" "/.test(letter)) check(`letter ${letter} of ${square.className}`, rgba(style.color), behind(square), 4.5);
    const edge = style.boxShadow === "none" ? around : rgba(style.boxShadow.match(/^(\\w+\\(.*?\\))/)[1]);
    if (contrast(behind(square), around) < 3) check(`square ${square.className}`, edge, around, 3);
  }
  return [...faults].slice(0, 20);
})()"""


def expect_layout(browser, what):
    """Checks that no element is cut off, covered, or too small to be seen."""
    faults = browser.value(LAYOUT)
    expect(f"{what}: {faults}", not faults)


def expect_contrast(browser, what):
    """Checks the contrast of all text, and of the squares that show the states of nodes."""
    faults = browser.value(CONTRAST)
    expect(f"{what}: {faults}", not faults)
