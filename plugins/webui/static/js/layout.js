// Where the nodes of a graph stand: the same graph always looks the same, as nothing here is drawn by chance.
// First rings around the centre by how many steps away, then a few hundred rounds of springs and pushing apart.

const ROUNDS = 260;
const RING = 150; // between two rings, and the length of a spring at rest
const APART = 5200; // how strongly nodes push each other away
const CELL = 420; // nodes further apart than this do not push at all

function neighbours(nodes, edges) {
  const found = new Map(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    if (from === to || !found.has(from) || !found.has(to)) continue;
    found.get(from).push(to);
    found.get(to).push(from);
  }
  return found;
}

const byId = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

// Steps from the centre; what is not connected to it stands on a ring beyond all others.
function depths(ordered, near, centre) {
  const depth = new Map();
  let ring = centre ? [centre] : [];
  for (let steps = 0; ring.length; steps += 1) {
    for (const id of ring) depth.set(id, steps);
    ring = [...new Set(ring.flatMap((id) => near.get(id)))].filter((id) => !depth.has(id)).sort();
  }
  const last = Math.max(0, ...depth.values()) + 1;
  for (const { id } of ordered) if (!depth.has(id)) depth.set(id, last);
  return depth;
}

function begin(ordered, near, centre) {
  const depth = depths(ordered, near, centre);
  const rings = Map.groupBy ? Map.groupBy(ordered, ({ id }) => depth.get(id)) : grouped(ordered, depth);
  const at = new Map();
  for (const [steps, ring] of rings) {
    ring.forEach(({ id }, index) => {
      const turn = (2 * Math.PI * (index + (steps % 2) / 2)) / ring.length - Math.PI / 2;
      const far = RING * Math.max(steps, steps && (ring.length * 46) / (2 * Math.PI * RING));
      at.set(id, { id, x: far * Math.cos(turn), y: far * Math.sin(turn), dx: 0, dy: 0 });
    });
  }
  return at;
}

function grouped(ordered, depth) {
  const found = new Map();
  for (const node of ordered) found.set(depth.get(node.id), [...(found.get(depth.get(node.id)) ?? []), node]);
  return found;
}

function push(places) {
  for (let one = 0; one < places.length; one += 1) {
    for (let other = one + 1; other < places.length; other += 1) {
      const [a, b] = [places[one], places[other]];
      let [x, y] = [a.x - b.x, a.y - b.y];
      if (Math.abs(x) > CELL || Math.abs(y) > CELL) continue;
      if (!x && !y) [x, y] = [1 + one % 3, 1 + other % 5]; // on one another: apart, and always the same way
      const square = x * x + y * y;
      const force = APART / square / Math.sqrt(square);
      a.dx += x * force;
      a.dy += y * force;
      b.dx -= x * force;
      b.dy -= y * force;
    }
  }
}

function pull(edges, at) {
  for (const { from, to } of edges) {
    const [a, b] = [at.get(from), at.get(to)];
    if (!a || !b || a === b) continue;
    const [x, y] = [b.x - a.x, b.y - a.y];
    const length = Math.hypot(x, y) || 1;
    const force = (0.06 * (length - RING)) / length;
    a.dx += x * force;
    a.dy += y * force;
    b.dx -= x * force;
    b.dy -= y * force;
  }
}

// `nodes`: [{id}], `edges`: [{from, to}]; the centre stays in the middle.  Gives a Map of id → {x, y}.
export function layout(nodes, edges, centre = "") {
  const ordered = [...nodes].sort(byId);
  const near = neighbours(ordered, edges);
  const middle = near.has(centre) ? centre : [...ordered].sort((a, b) => near.get(b.id).length - near.get(a.id).length || byId(a, b))[0]?.id;
  const at = begin(ordered, near, middle);
  const places = [...at.values()].sort(byId);
  for (let round = 0; round < ROUNDS; round += 1) {
    const most = 40 * (1 - round / ROUNDS) + 0.5; // cools down
    push(places);
    pull(edges, at);
    for (const one of places) {
      one.dx -= one.x * 0.012; // towards the middle, or parts that nothing connects drift away
      one.dy -= one.y * 0.012;
      const far = Math.hypot(one.dx, one.dy);
      const share = far > most ? most / far : 1;
      if (one.id !== middle) [one.x, one.y] = [one.x + one.dx * share, one.y + one.dy * share];
      [one.dx, one.dy] = [0, 0];
    }
  }
  return at;
}
