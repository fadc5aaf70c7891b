/** Layers in words: `all layers`, `layer 3`, `layers 0, 2 to 5`, `no layer`. @param count - layers of the model */
export function layersText(layers: readonly number[], count: number): string {
  if (layers.length === 0) return 'no layer'
  if (layers.length === count) return count === 1 ? 'its layer' : `all ${count} layers`
  const runs: [first: number, last: number][] = []
  for (const layer of layers.toSorted((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run && run[1] === layer - 1) run[1] = layer
    else runs.push([layer, layer])
  }
  const texts = runs.flatMap(([first, last]) => {
    if (first === last) return [String(first)]
    return last === first + 1 ? [String(first), String(last)] : [`${first} to ${last}`]
  })
  return `${layers.length === 1 ? 'layer' : 'layers'} ${texts.join(', ')}`
}
