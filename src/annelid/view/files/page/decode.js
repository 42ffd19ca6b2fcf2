// The recording: texts in JSON, arrays as base64 of deflated differences, byte by byte.

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function decoded(blob) {
  const [rows, columns, size, text] = blob;
  const planes = await inflated(text);
  const count = rows * columns;
  const out = new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[size](count);
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let b = size - 1; b >= 0; b--) value = (value << 8) | planes[b * count + i];
    out[i] = i < columns ? value : value + out[i - columns];
  }
  return out;
}

async function decodedRuns(runs) {
  for (const run of runs) {
    run.positions = await decoded(run.positions);
    if (run.index) run.index = await decoded(run.index);
    for (const name of Object.keys(run.fields)) run.fields[name] = await decoded(run.fields[name]);
    if (run.kind === "lines") alongSegments(run);
  }
}

// Both ends of a segment side by side, so that a segment is one instance with two attributes.
function alongSegments(run) {
  const ends = run.index.length;
  const out = new Uint16Array(run.count * ends * 3);
  for (let f = 0, k = 0; f < run.count; f++) {
    for (let e = 0; e < ends; e++, k += 3) {
      const at = 3 * (f * run.size + run.index[e]);
      out[k] = run.positions[at];
      out[k + 1] = run.positions[at + 1];
      out[k + 2] = run.positions[at + 2];
    }
  }
  run.positions = out;
}
